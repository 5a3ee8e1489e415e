package main

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func minute(page string, n int) window.Key[string] {
	from := noon.Add(time.Duration(n) * time.Minute)
	return window.Key[string]{Key: page, Span: window.NewSpan(from, from.Add(time.Minute))}
}

func TestTotals(t *testing.T) {
	d := streamtest.New(t, newClicks().Builder)
	in, out := d.In[string, Click]("clicks"), d.Out[string, Stats]("totals")
	in.Send("u1", Click{Page: "/"})
	in.Send("u2", Click{Page: "/", Bot: true})
	if got, want := streamtest.Rows(out), map[string]Stats{"/": {Views: 2, Bots: 1}}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMinutesCloseInEventTime(t *testing.T) {
	d := streamtest.New(t, newClicks().Builder, streamtest.StartAt(noon), streamtest.Partitions(2))
	in, out := d.In[string, Click]("clicks"), d.Out[window.Key[string], int64]("per-minute")
	in.SendAt(noon.Add(10*time.Second), "u1", Click{Page: "/"})
	in.SendAt(noon.Add(59*time.Second), "u2", Click{Page: "/"})
	if got := out.Read(); len(got) != 0 {
		t.Fatalf("emitted before it closed: %v", got)
	}
	in.SendAt(noon.Add(60*time.Second), "u1", Click{Page: "/a"})
	// The other partition has been read to its end; after IdleAfter it no longer holds the minute open.
	d.Advance(10 * time.Second)
	if got, want := streamtest.Rows(out), map[window.Key[string]]int64{minute("/", 0): 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	in.End()
	if got, want := streamtest.Rows(out), map[window.Key[string]]int64{minute("/a", 1): 1}; !maps.Equal(got, want) {
		t.Errorf("at the end: got %v, want %v", got, want)
	}
}

func TestCrashLosesNothingAndRepeatsNothing(t *testing.T) {
	c := newClicks()
	d := streamtest.New(t, c.Builder, streamtest.ManualCheckpoints())
	in, out := d.In[string, Click]("clicks"), d.Out[string, Stats]("totals")
	in.Send("u1", Click{Page: "/"})
	d.Checkpoint()
	in.Send("u1", Click{Page: "/"})
	d.Crash() // the second click is read again
	d.Checkpoint()
	v, ok, err := d.View(c.Total).Get(context.Background(), "/", table.Committed)
	if err != nil || !ok || v.Views != 2 {
		t.Errorf("got %v %v %v", v, ok, err)
	}
	if got := out.Read(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	d.Restart(newClicks().Builder)
	in.SendBytes([]byte("u"), []byte("{"))
	if d.Err() == nil {
		t.Error("bad JSON was accepted")
	}
}

func TestQueriesOverHTTP(t *testing.T) {
	c := newClicks()
	now := time.Now()
	d := streamtest.New(t, c.Builder, streamtest.StartAt(now))
	d.In[string, Click]("clicks").SendAt(now.Add(-time.Minute), "u1", Click{Page: "home"})
	s := &service{total: d.View(c.Total), perMinute: d.View(c.PerMinute)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{page}", s.page)
	mux.HandleFunc("GET /pages/{page}/minutes", s.minutes)
	for path, want := range map[string]string{
		"/pages/home":          `{"Views":1,"Bots":0}`,
		"/pages/none":          "not found",
		"/pages/home/minutes":  "Z\":1}",
		"/pages/other/minutes": "{}",
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
