package table_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/table"
)

// a process holds the keys that begin with its letter, and knows where the other is.
type process struct{ letter, other string }

func (p *process) Name() string { return "letters" }

func (p *process) Get(_ context.Context, k string, _ table.Read) (row table.Row[string, int], ok bool, err error) {
	switch {
	case !strings.HasPrefix(k, p.letter):
		return row, false, &table.NotLocalError{Table: "letters", Address: p.other}
	case k == "again":
		return row, false, table.ErrRestoring
	case strings.HasSuffix(k, "?"):
		return row, false, nil
	}
	return table.Row[string, int]{Key: k, Value: len(k), Time: time.UnixMilli(1500)}, true, nil
}

func (p *process) Scan(context.Context, *string, *string, table.Read) iter.Seq2[table.Row[string, int], error] {
	return nil
}
func (p *process) Locate(string) (string, error) { return p.other, nil }

func TestServeHTTP(t *testing.T) {
	a, b := &process{letter: "a"}, &process{letter: "b"}
	serverA := httptest.NewServer(table.ViewOf(a, table.Committed))
	defer serverA.Close()
	serverB := httptest.NewServer(table.ViewOf(b, table.Committed))
	defer serverB.Close()
	a.other, b.other = serverB.Listener.Addr().String(), serverA.Listener.Addr().String()
	for _, c := range []struct {
		method, query string
		code          int
		body          string
	}{
		{"GET", "?key=abc", 200, `{"key":"abc","value":3,"time":"1970-01-01T00:00:01.500Z"}` + "\n"},
		{"GET", "?key=bcde", 200, `{"key":"bcde","value":4,"time":"1970-01-01T00:00:01.500Z"}` + "\n"},
		{"HEAD", "?key=abc", 200, ""},
		{"GET", "?key=a?", 404, "no such key\n"},
		{"GET", "?key=b?", 404, "no such key\n"},
		{"GET", "?key=again", 503, "restored"},
		{"GET", "?key=neither", 421, "held by"}, // each says that the other has it
		{"GET", "", 400, "?key="},
		{"GET", "?key=a&read=later", 400, "committed"},
		{"GET", "?key=" + strings.Repeat("a", 70_000), 400, "longer"},
		{"POST", "?key=abc", 405, "read"},
	} {
		req, err := http.NewRequest(c.method, serverA.URL+"/"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body strings.Builder
		if err := resp.Write(&body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.code || !strings.Contains(body.String(), c.body) {
			t.Errorf("%s %.40s: %d %s, want %d %s", c.method, c.query, resp.StatusCode, body.String(), c.code, c.body)
		}
	}
	a.other = "" // nobody says where
	w := httptest.NewRecorder()
	table.ViewOf(a, table.Committed).ServeHTTP(w, httptest.NewRequest("GET", "/?key=b", nil))
	if w.Code != http.StatusMisdirectedRequest || !strings.Contains(w.Body.String(), "Advertise") {
		t.Errorf("without an address: %d %s", w.Code, w.Body)
	}
}
