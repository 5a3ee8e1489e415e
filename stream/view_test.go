package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// tally is not plain: a live value that shared its map with the task would change later.
type tally map[string]int

func TestViewOfATable(t *testing.T) {
	b := stream.New("view")
	rows := b.Table(kafka.Source("rows", serde.String, serde.Int64))
	even := rows.Filter(func(_ string, n int64) bool { return n%2 == 0 })
	doubled := even.MapValues(func(n int64) int64 { return 2 * n })
	d := streamtest.New(t, b, streamtest.ManualCheckpoints(), streamtest.Partitions(3))
	in := d.In[string, int64]("rows")
	for i := range 1000 {
		in.Send(fmt.Sprintf("k%03d", i), int64(i))
	}
	d.Checkpoint()
	in.Send("k002", 4)
	in.Delete("k004")
	get := func(v *table.View[string, int64], k string, how table.Read) string {
		t.Helper()
		n, ok, err := v.Get(t.Context(), k, how)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(n, ok)
	}
	for _, c := range []struct {
		view            *table.View[string, int64]
		key             string
		committed, live string
	}{
		{d.View(rows), "k002", "2 true", "4 true"},
		{d.View(rows), "k004", "4 true", "0 false"},
		{d.View(rows), "none", "0 false", "0 false"},
		{d.View(even), "k003", "0 false", "0 false"},
		{d.View(doubled), "k002", "4 true", "8 true"},
		{d.View(doubled), "k004", "8 true", "0 false"},
	} {
		if got := get(c.view, c.key, table.Committed); got != c.committed {
			t.Errorf("%s committed: %s, want %s", c.key, got, c.committed)
		}
		if got := get(c.view, c.key, table.Stale); got != c.committed {
			t.Errorf("%s stale: %s, want %s", c.key, got, c.committed)
		}
		if got := get(c.view, c.key, table.Live); got != c.live {
			t.Errorf("%s live: %s, want %s", c.key, got, c.live)
		}
	}
	for how, want := range map[table.Read]int{table.Committed: 1000, table.Live: 999} {
		var keys []string
		for row, err := range d.View(rows).Range(t.Context(), "k", "l", how) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, row.Key)
		}
		if len(keys) != want || !slices.IsSorted(keys) {
			t.Errorf("read %v: a range over three partitions has %d rows, sorted %t", how, len(keys), slices.IsSorted(keys))
		}
		all := 0
		for _, err := range d.View(rows).All(t.Context(), how) {
			if err != nil {
				t.Fatal(err)
			}
			all++
		}
		if all != want {
			t.Errorf("read %v: %d rows in all, want %d", how, all, want)
		}
	}
	n := 0
	for range d.View(rows).Range(t.Context(), "k010", "k020") {
		n++
	}
	if n != 10 {
		t.Errorf("a range has %d rows, want 10", n)
	}
	d.Crash()
	if got := get(d.View(rows), "k002", table.Live); got != "4 true" {
		t.Errorf("after a crash and reading again: %s", got)
	}
}

func TestLiveValuesAreCopies(t *testing.T) {
	b := stream.New("view")
	counts := b.Source(kafka.Source("words", serde.String, serde.String)).GroupByKey().
		Aggregate(func() tally { return tally{} }, func(_, w string, c tally) tally { c[w]++; return c })
	d := streamtest.New(t, b)
	in := d.In[string, string]("words")
	in.Send("k", "a")
	before, _, err := d.View(counts).Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	in.Send("k", "a")
	if before["a"] != 1 {
		t.Errorf("what was handed out has changed to %v", before)
	}
	before["a"] = 100
	if now, _, _ := d.View(counts).Get(t.Context(), "k"); now["a"] != 2 {
		t.Errorf("the row is %v after its copy was changed", now)
	}
}

func minuteOf(key string, minute int) window.Key[string] {
	from := time.Date(2020, 1, 1, 0, minute, 0, 0, time.UTC)
	return window.Key[string]{Key: key, Span: window.NewSpan(from, from.Add(time.Minute))}
}

func TestViewOfWindows(t *testing.T) {
	b := stream.New("view")
	clicks := b.Source(kafka.Source("clicks", serde.String, serde.String)).GroupByKey()
	minutes := clicks.Window(window.Tumbling(time.Minute)).Count(stream.Named("minutes"), stream.Retain(time.Hour))
	visits := clicks.Session(window.Session(30*time.Second)).Count(stream.Named("visits"), stream.Retain(time.Hour))
	d := streamtest.New(t, b, streamtest.Partitions(2), streamtest.StartAt(minuteOf("", 0).Span.Start()))
	in := d.In[string, string]("clicks")
	for m := range 10 {
		for _, k := range []string{"a", "aa", "b"} {
			in.SendAt(minuteOf(k, m).Span.Start(), k, "x")
		}
	}
	d.Checkpoint()
	for name, v := range map[string]*table.View[window.Key[string], int64]{"minutes": d.View(minutes), "visits": d.View(visits)} {
		for _, how := range []table.Read{table.Committed, table.Live} {
			var starts []time.Time
			for row, err := range v.Range(t.Context(), minuteOf("a", 3), minuteOf("a", 6), how) {
				if err != nil {
					t.Fatal(name, err)
				}
				if row.Key.Key != "a" || row.Value != 1 {
					t.Errorf("%s: row %v", name, row)
				}
				starts = append(starts, row.Key.Span.Start())
			}
			if want := 3; len(starts) != want {
				t.Errorf("%s, read %v: windows of a key from minute 3 to 6: %v", name, how, starts)
			}
			n := 0
			for _, err := range v.All(t.Context(), how) {
				if err != nil {
					t.Fatal(name, err)
				}
				n++
			}
			if n != 30 {
				t.Errorf("%s, read %v: %d rows in all, want 30", name, how, n)
			}
		}
		for _, err := range v.Range(t.Context(), minuteOf("a", 3), minuteOf("b", 6)) {
			if err == nil || !strings.Contains(err.Error(), "of one key") {
				t.Errorf("%s: a range over windows of two keys: %v", name, err)
			}
		}
	}
	if n, ok, err := d.View(minutes).Get(t.Context(), minuteOf("aa", 4)); n != 1 || !ok || err != nil {
		t.Errorf("a window: %d %t %v", n, ok, err)
	}
	w := httptest.NewRecorder()
	d.View(minutes).ServeHTTP(w, httptest.NewRequest("GET", `/?key={"Key":"a","Span":"2020-01-01T00:03:00Z/2020-01-01T00:04:00Z"}`, nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"value":1`) {
		t.Errorf("a window over HTTP: %d %s", w.Code, w.Body)
	}
}

func TestViewOfAGlobalTable(t *testing.T) {
	b := stream.New("view")
	g := b.Global(kafka.Source("countries", serde.String, serde.String))
	b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.Partitions(2))
	in := d.In[string, string]("countries")
	for _, k := range []string{"de", "at", "ch", "fr"} {
		in.Send(k, strings.ToUpper(k))
	}
	in.Delete("fr")
	v := d.View(g)
	if s, ok, err := v.Get(t.Context(), "ch"); s != "CH" || !ok || err != nil {
		t.Errorf("%q %t %v", s, ok, err)
	}
	var got []string
	for row, err := range v.Range(t.Context(), "b", "z") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row.Value)
	}
	if want := []string{"CH", "DE"}; !slices.Equal(got, want) {
		t.Errorf("range: %v, want %v", got, want)
	}
}

func TestViewOfAStore(t *testing.T) {
	b := stream.New("view")
	last := stream.NewStore("last", serde.String, serde.Int64, stream.TTL(time.Hour))
	b.Source(kafka.Source("in", serde.String, serde.Int64)).
		Process(func(p *stream.Processor[string, string, int64]) func(stream.Record[string, int64]) error {
			s := p.Store(last)
			return func(r stream.Record[string, int64]) error {
				s.Put(r.Key+"!", r.Value)
				return nil
			}
		})
	d := streamtest.New(t, b, streamtest.Partitions(4))
	in := d.In[string, int64]("in")
	for i := range 20 {
		in.Send(fmt.Sprint(i), int64(i))
	}
	d.Checkpoint()
	for _, how := range []table.Read{table.Live, table.Committed} {
		for i := range 20 {
			if n, ok, err := d.View(last).Get(t.Context(), fmt.Sprintf("%d!", i), how); n != int64(i) || !ok || err != nil {
				t.Errorf("%d: %d %t %v", i, n, ok, err)
			}
		}
	}
	d.Advance(time.Hour)
	if n, ok, err := d.View(last).Get(t.Context(), "3!", table.Live); ok || err != nil {
		t.Errorf("after its life: %d %t %v", n, ok, err)
	}
}

func TestViewErrors(t *testing.T) {
	b := stream.New("view")
	rows := b.Table(kafka.Source("rows", serde.String, serde.Int64))
	odd := rows.MapValues(func(n int64) int64 {
		if n == 13 {
			stream.Reject(errors.New("unlucky"))
		}
		return n
	}, stream.OnError(stream.Skip))
	d := streamtest.New(t, b)
	v := d.View(rows)
	d.In[string, int64]("rows").Send("k", 13)
	for _, how := range []table.Read{table.Committed, table.Live} {
		d.Checkpoint()
		if _, _, err := d.View(odd).Get(t.Context(), "k", how); err == nil || !strings.Contains(err.Error(), "unlucky") {
			t.Errorf("a function that rejects, in a query: %v", err)
		}
	}
	if d.Err() != nil {
		t.Errorf("a query has failed its task: %v", d.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range v.All(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
	}
	other := stream.New("other").Table(kafka.Source("rows", serde.String, serde.Int64))
	app, err := b.Build(stream.Config{Cluster: &kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, State: state.InMemory(), Exchange: stream.Local})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.View(other); err == nil || !strings.Contains(err.Error(), "another Builder") {
		t.Errorf("a table of another builder: %v", err)
	}
	if _, err := app.View(stream.NewStore("nobody", serde.String, serde.String)); err == nil || !strings.Contains(err.Error(), "no processor") {
		t.Errorf("an unknown store: %v", err)
	}
	early, err := app.View(rows)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := early.Get(t.Context(), "k"); !errors.Is(err, table.ErrNotRunning) {
		t.Errorf("before Run: %v", err)
	}
	w := httptest.NewRecorder()
	early.ServeHTTP(w, httptest.NewRequest("GET", "/?key=k", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("before Run, over HTTP: %d %s", w.Code, w.Body)
	}
	next := stream.New("view")
	next.Table(kafka.Source("rows", serde.String, serde.Int64))
	d.Restart(next)
	if _, _, err := v.Get(t.Context(), "k"); !errors.Is(err, table.ErrNotRunning) {
		t.Errorf("after the app has stopped: %v", err)
	}
}
