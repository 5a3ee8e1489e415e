package table

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
)

// forwarded marks a request that another process has passed on: it is not passed on again.
const forwarded = "Weir-Forwarded"

// Limits on what is taken from outside.
const (
	maxKey    = 64 << 10
	maxAnswer = 64 << 20
)

// ServeHTTP answers GET ?key=… with {"key":…,"value":…,"time":…}, and forwards to the owner of the key. The key is text as it is for
// keys of strings and of types that unmarshal text, else JSON: ?key=7, ?key={"Key":"a","Span":"…/…"}. ?read=live and ?read=committed
// say how fresh the answer must be.
//
// 404 is a key without a row, 421 one that is held by a process which cannot be reached, or which says the same of this one; 503 says
// that the state is not there yet. Who may ask is the business of the handler around it.
func (v *View[K, V]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a table is only read", http.StatusMethodNotAllowed)
		return
	}
	k, how, err := v.parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	row, ok, err := v.source.Get(r.Context(), k, how)
	elsewhere := &NotLocalError{}
	switch {
	case errors.As(err, &elsewhere):
		v.forward(w, r, elsewhere)
	case errors.Is(err, ErrRestoring), errors.Is(err, ErrNotRunning):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !ok:
		http.Error(w, "no such key", http.StatusNotFound)
	default:
		v.answer(w, row)
	}
}

// parse takes the key and the freshness from a request.
func (v *View[K, V]) parse(r *http.Request) (k K, how Read, err error) {
	q := r.URL.Query()
	if !q.Has("key") {
		return k, 0, errors.New("say which key: ?key=…")
	}
	how = v.fresh
	switch q.Get("read") {
	case "":
	case "committed":
		how = Committed
	case "live":
		how = Live
	case "stale":
		how = Stale
	default:
		return k, 0, errors.New("read is committed, live or stale")
	}
	text := q.Get("key")
	if len(text) > maxKey {
		return k, 0, fmt.Errorf("key is longer than %d bytes", maxKey)
	}
	return k, how, parseKey(text, &k)
}

// parseKey reads a key from text.
func parseKey(text string, k any) error {
	if u, ok := k.(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		return nil
	}
	if v := reflect.ValueOf(k).Elem(); v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	if err := json.Unmarshal([]byte(text), k); err != nil {
		return fmt.Errorf("key is not JSON of a %T: %w", k, err)
	}
	return nil
}

// An answer is the JSON of a row.
type answer[K, V any] struct {
	Key   K      `json:"key"`
	Value V      `json:"value"`
	Time  string `json:"time,omitempty"`
}

func (v *View[K, V]) answer(w http.ResponseWriter, row Row[K, V]) {
	a := answer[K, V]{Key: row.Key, Value: row.Value}
	if !row.Time.IsZero() {
		a.Time = row.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	b, err := json.Marshal(a)
	if err != nil {
		http.Error(w, fmt.Sprintf("table %s: row as JSON: %v", v.source.Name(), err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // who asked has gone
}

// forward has the owner answer.
func (v *View[K, V]) forward(w http.ResponseWriter, r *http.Request, to *NotLocalError) {
	if to.Address == "" || r.Header.Get(forwarded) != "" {
		http.Error(w, to.Error(), http.StatusMisdirectedRequest)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+to.Address+r.URL.RequestURI(), nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept"} {
		req.Header[name] = r.Header[name]
	}
	req.Header.Set(forwarded, "1")
	resp, err := v.client.Do(req)
	if err != nil {
		http.Error(w, fmt.Sprintf("%v: %v", to, err), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if values := resp.Header[name]; len(values) > 0 {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(resp.Body, maxAnswer)) // who asked has gone, or the owner has
}
