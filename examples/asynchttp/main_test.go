package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
)

// service knows two addresses, answers one that is broken with nonsense, and is out of order while down is set.
type service struct {
	down  atomic.Bool
	calls atomic.Int64
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	country, known := map[string]string{"/192.0.2.1": "at", "/2001:db8::1": "ch"}[r.URL.Path]
	switch {
	case s.down.Load():
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.URL.Path == "/broken":
		w.Write([]byte("{"))
	case !known:
		http.NotFound(w, r)
	default:
		json.NewEncoder(w).Encode(country)
	}
}

func newService(t *testing.T) (*service, geo) {
	s := &service{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, geo{srv.Client(), srv.URL}
}

func countries(out *streamtest.Out[string, Located]) (got []string) {
	for _, r := range out.Read() {
		got = append(got, r.Key+" "+r.Value.Click.Page+" "+r.Value.Country)
	}
	slices.Sort(got) // order is kept per key only
	return got
}

func TestLocated(t *testing.T) {
	_, g := newService(t)
	d := streamtest.New(t, topology(g))
	in, out, dead := d.In[string, Click]("clicks"), d.Out[string, Located]("located"), d.Out[[]byte, []byte]("clicks-dead")
	in.Send("ann", Click{"192.0.2.1", "/a"})
	in.Send("bob", Click{"198.51.100.1", "/b"})
	in.Send("bob", Click{"broken", "/c"})
	in.Send("bob", Click{"2001:db8::1", "/d"})
	if got, want := countries(out), []string{"ann /a at", "bob /d ch"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	letters := dead.Read()
	if len(letters) != 2 {
		t.Fatalf("letters: %v", letters)
	}
	for i, want := range []string{"404", "answer for \"broken\""} {
		if why, _ := letters[i].Headers.Get("weir.error"); !strings.Contains(why, want) {
			t.Errorf("letter %d is there because %q, want %q in it", i, why, want)
		}
	}
}

func TestAnOutageLosesNothing(t *testing.T) {
	s, g := newService(t)
	d := streamtest.New(t, topology(g))
	in, out, dead := d.In[string, Click]("clicks"), d.Out[string, Located]("located"), d.Out[[]byte, []byte]("clicks-dead")
	s.down.Store(true)
	in.Send("ann", Click{"192.0.2.1", "/a"})
	in.Send("ann", Click{"192.0.2.1", "/b"})
	if s.calls.Load() == 0 {
		t.Fatal("the service was not asked")
	}
	d.Crash() // what was asked for is asked for again
	if got := out.Read(); len(got) != 0 {
		t.Fatalf("located by a service that is down: %v", got)
	}
	s.down.Store(false)
	d.Advance(5 * time.Minute) // longer than the longest pause between two tries
	if got, want := countries(out), []string{"ann /a at", "ann /b at"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if letters := dead.Read(); len(letters) != 0 {
		t.Errorf("an outage made dead letters: %v", letters)
	}
}
