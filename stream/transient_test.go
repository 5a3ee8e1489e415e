package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// service is something outside that can be down.
type service struct {
	down  bool
	calls int
}

var errDown = errors.New("503")

func (s *service) call(v string) (string, error) {
	s.calls++
	if s.down {
		return "", stream.Transient(errDown)
	}
	return strings.ToUpper(v), nil
}

func values(rs []stream.Record[string, string]) (out []string) {
	for _, r := range rs {
		out = append(out, r.Value)
	}
	return out
}

// A record that has had no effect goes back to the head of its input: barriers pass, nothing is lost or repeated, no policy is asked.
func TestAnOutageHoldsTheRecordBack(t *testing.T) {
	for name, policy := range map[string]stream.Policy{"fail": stream.Fail, "skip": stream.Skip} {
		t.Run(name, func(t *testing.T) {
			s := &service{}
			b := stream.New("outage")
			b.Source(kafka.Source("in", serde.String, serde.String)).
				TryMapValues(s.call, stream.OnError(policy)).
				To(kafka.Sink("out", serde.String, serde.String))
			d := streamtest.New(t, b)
			in, out := d.In[string, string]("in"), d.Out[string, string]("out")
			in.Send("k", "a")
			s.down = true
			in.Send("k", "b")
			in.Send("k", "c")
			if got, want := values(out.Read()), []string{"A"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if st := d.Status(); st.State != "running" || !errors.Is(st.Paused, errDown) {
				t.Errorf("state %s, paused %v", st.State, st.Paused)
			}
			before := s.calls
			d.Advance(time.Minute)
			if tries := s.calls - before; tries < 10 || tries > 30 {
				t.Errorf("%d tries in a minute", tries)
			}
			s.down = false
			d.Advance(10 * time.Second)
			if got, want := values(out.Read()), []string{"B", "C"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if st := d.Status(); st.Paused != nil {
				t.Errorf("paused %v", st.Paused)
			}
		})
	}
}

// A record that has had an effect before the outage is undone with it: a branch in front of the failing one must not see it twice.
func TestAnOutageBehindAnEffect(t *testing.T) {
	s := &service{down: true}
	b := stream.New("outage")
	src := b.Source(kafka.Source("in", serde.String, serde.String))
	src.To(kafka.Sink("copy", serde.String, serde.String))
	src.TryMapValues(s.call).To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b)
	in := d.In[string, string]("in")
	same, out := d.Out[string, string]("copy"), d.Out[string, string]("out")
	in.Send("k", "a")
	if got := same.Read(); len(got) != 0 {
		t.Errorf("what was undone is seen: %v", got)
	}
	d.Advance(time.Second)
	s.down = false
	d.Advance(time.Second)
	if got, want := values(same.Read()), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("copy: got %v, want %v", got, want)
	}
	if got, want := values(out.Read()), []string{"A"}; !slices.Equal(got, want) {
		t.Errorf("out: got %v, want %v", got, want)
	}
}

// In an outage an aggregate's functions are called again on the accumulator as it was, and nothing before is done again: not the records since the
// last commit, for which there would be no end of attempts.
func TestAnOutageIsWaitedForInAggregates(t *testing.T) {
	type sums = stream.Grouped[string, string]
	count := func(add func(v string)) func(_, v string, n int64) int64 {
		return func(_, v string, n int64) int64 { add(v); return n + 1 }
	}
	zero := func() int64 { return 0 }
	out := kafka.Sink("out", serde.String, serde.String)
	windows := func(s *stream.Table[window.Key[string], int64]) {
		s.ToStream().Map(func(k window.Key[string], n int64) (string, string) { return k.Key, fmt.Sprint(n) }).To(out)
	}
	plain := func(s *stream.Table[string, int64]) {
		s.ToStream().MapValues(func(n int64) string { return fmt.Sprint(n) }).To(out)
	}
	shapes := map[string]func(g *sums, in *stream.Stream[string, string], add func(v string)){
		"aggregate": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			plain(g.Aggregate(zero, count(add), stream.OnUpdate))
		},
		"reduce": func(_ *sums, in *stream.Stream[string, string], add func(string)) {
			in.GroupByKey().Reduce(func(a, b string) string { add(b); return a + b }, stream.OnUpdate).ToStream().
				MapValues(func(v string) string { return fmt.Sprint(len(v)) }).To(out)
		},
		"cogroup": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			plain(g.Cogroup(count(add)).Aggregate(zero, stream.OnUpdate))
		},
		"tumbling": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			windows(g.Window(window.Tumbling(time.Hour)).Aggregate(zero, count(add), stream.OnUpdate))
		},
		"hopping": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			windows(g.Window(window.Hopping(time.Hour, 30*time.Minute)).Aggregate(zero, count(add), stream.OnUpdate))
		},
		"panes": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			windows(g.Window(window.Hopping(time.Hour, 30*time.Minute)).AggregateMerge(zero, count(add), func(_ string, a, b int64) int64 { return a + b }))
		},
		"sliding": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			windows(g.Window(window.Sliding(time.Hour)).Aggregate(zero, count(add), stream.OnUpdate))
		},
		"session": func(g *sums, _ *stream.Stream[string, string], add func(string)) {
			windows(g.Session(window.Session(time.Hour)).Aggregate(zero, count(add), func(_ string, a, b int64) int64 { return a + b }, stream.OnUpdate))
		},
	}
	for name, build := range shapes {
		for _, policy := range []stream.Policy{stream.Fail, stream.Skip} {
			t.Run(fmt.Sprint(name, " ", policy == stream.Fail), func(t *testing.T) {
				down, calls := false, map[string]int{}
				b := stream.New("outage")
				src := b.Source(kafka.Source("in", serde.String, serde.String))
				build(src.GroupByKey(), src, func(v string) {
					calls[v]++
					if down {
						stream.Reject(stream.Transient(errDown))
					}
				})
				d := streamtest.New(t, b, streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) { c.OnError = policy }))
				in, res := d.In[string, string]("in"), d.Out[string, string]("out")
				in.Send("k", "a")
				in.Send("k", "b")
				before := calls["a"]
				down = true
				in.Send("k", "c")
				d.Advance(time.Minute)
				if st := d.Status(); st.State != "running" || !errors.Is(st.Paused, errDown) || calls["c"] < 10 {
					t.Errorf("state %s, paused %v after %d calls", st.State, st.Paused, calls["c"])
				}
				down = false
				d.Advance(10 * time.Second)
				if calls["a"] != before && name != "sliding" { // whose new spans fold what was there
					t.Errorf("what was before the outage was folded %d times, and then %d", before, calls["a"])
				}
				d.Advance(24 * time.Hour)
				in.Send("other", "z")
				d.Checkpoint()
				if got := values(res.Read()); !slices.Contains(got, "3") || slices.Contains(got, "4") {
					t.Errorf("got %v, want a 3 and no more; %v", got, d.Err())
				}
			})
		}
	}
}

// What a function has changed in place is put back before it is called again, as long as the database has it.
func TestAnOutageIsWaitedForByAMap(t *testing.T) {
	f := &failing{}
	adds := map[string]int{}
	b := stream.New("outage")
	b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().
		Aggregate(newTally, func(k, v string, t bag) bag { adds[v]++; return f.add(k, v, t) }, stream.OnUpdate).
		ToStream().MapValues(tallied).To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.ManualCheckpoints())
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.Send("k", "a")
	d.Checkpoint()
	in.Send("other", "b")
	f.fail = stream.Transient(errDown)
	in.Send("k", "c")
	d.Advance(time.Minute)
	if st := d.Status(); st.State != "running" || !errors.Is(st.Paused, errDown) || adds["c"] < 10 {
		t.Errorf("state %s, paused %v after %d calls", st.State, st.Paused, adds["c"])
	}
	f.fail = nil
	d.Advance(10 * time.Second)
	d.Checkpoint()
	if got, want := values(out.Read()), []string{"map[a:1]", "map[b:1]", "map[a:1 c:1]"}; !slices.Equal(got, want) || adds["b"] != 1 {
		t.Errorf("got %v, want %v; b was added %d times", got, want, adds["b"])
	}
}

// An outage inside an aggregate is undone as well: what add did to its accumulator must not be done twice.
func TestAnOutageInAnAggregate(t *testing.T) {
	down := true
	b := stream.New("outage")
	b.Source(kafka.Source("in", serde.String, serde.String)).
		GroupByKey().
		Aggregate(func() []string { return nil }, func(_, v string, all []string) []string {
			all = append(all, v)
			if down {
				stream.Reject(stream.Transient(errDown))
			}
			return all
		}).
		MapValues(func(all []string) string { return strings.Join(all, " ") }).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b)
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.Send("k", "a")
	d.Advance(time.Second)
	down = false
	d.Advance(time.Second)
	in.Send("k", "b")
	if got, want := values(out.Read()), []string{"a b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// In a running app the call alone is repeated in place: the effect in front of it stays.
func TestAnOutageIsWaitedForInPlace(t *testing.T) {
	out, same := memory.Collect[string, string]("out"), memory.Collect[string, string]("same")
	calls := 0
	b := stream.New("in-place")
	src := b.Source(memory.From("in", func(yield func(stream.Record[string, string]) bool) {
		yield(stream.Record[string, string]{Key: "k", Value: "a", Time: time.UnixMilli(1)})
	}))
	src.To(same)
	src.TryMapValues(func(v string) (string, error) {
		if calls++; calls < 3 {
			return "", stream.Transient(errDown)
		}
		return v, nil
	}).To(out)
	app, err := b.Build(stream.Config{CheckpointInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if a, b := values(out.Records()), values(same.Records()); len(a) != 1 || len(b) != 1 || calls != 3 {
		t.Errorf("got %v and %v after %d calls", a, b, calls)
	}
}
