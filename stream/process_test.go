package stream_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// texts are the values of what was committed since the last read.
func texts(out *streamtest.Out[string, string]) (got []string) {
	for _, r := range out.Read() {
		got = append(got, r.Key+" "+r.Value)
	}
	return got
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

var errNo = errors.New("no")

// everything uses each kind of state, both timers, a shared store, ticks and a second output.
func everything(policy stream.Policy) *stream.Builder {
	b := stream.New("everything")
	alerts := stream.NewOutput[string, string]("alerts")
	shared := stream.NewStore("shared", serde.String, serde.Int64)
	s := b.Source(kafka.Source("in", serde.String, serde.String)).
		ProcessValues(func(p *stream.Processor[string, string, string]) func(stream.Record[string, string]) error {
			last := p.Value("last", serde.String)
			all := p.List("all", serde.String)
			per := p.Map("per", serde.String, serde.Int64)
			brief := p.Value("brief", serde.String, stream.TTL(10*time.Second))
			total := p.Store(shared)
			alert := p.Output(alerts)
			event := p.EventTimer("event", func(k string, at time.Time) error {
				l, _ := last.Get()
				p.Emit(k, fmt.Sprintf("event %s last=%s", at.Format(time.TimeOnly), l))
				return nil
			})
			clock := p.ClockTimer("clock", func(k string, at time.Time) error {
				alert.Emit(k, fmt.Sprintf("clock %s n=%d", at.Format(time.TimeOnly), all.Len()))
				return nil
			})
			return func(r stream.Record[string, string]) error {
				before, _ := last.Get()
				last.Set(r.Value)
				all.Append(r.Value)
				n, _ := per.Get(r.Value)
				per.Set(r.Value, n+1)
				sum, _ := total.Get("sum")
				total.Put("sum", sum+1)
				event.Set(r.Time.Add(5 * time.Second))
				clock.Set(p.Now().Add(time.Minute))
				if r.Value == "bad" {
					return errNo
				}
				b, had := brief.Get()
				brief.Set(r.Value)
				p.Emit(r.Key, fmt.Sprintf("%s before=%s n=%d sum=%d brief=%s/%v", r.Value, before, n+1, sum+1, b, had))
				return nil
			}
		}, stream.Named("p"), stream.OnError(policy))
	s.To(kafka.Sink("out", serde.String, serde.String))
	s.Output(alerts).To(kafka.Sink("alerts", serde.String, serde.String))
	return b
}

func TestProcess(t *testing.T) {
	d := streamtest.New(t, everything(stream.Skip), streamtest.StartAt(start))
	in, out, alerts := d.In[string, string]("in"), d.Out[string, string]("out"), d.Out[string, string]("alerts")
	in.SendAt(at(0), "a", "x")
	in.SendAt(at(1), "a", "x")
	expect(t, "first", texts(out), "a x before= n=1 sum=1 brief=/false", "a x before=x n=2 sum=2 brief=x/true")

	in.SendAt(at(2), "a", "bad") // leaves no trace: neither state nor timers
	in.SendAt(at(3), "a", "y")
	expect(t, "behind a rejected one", texts(out), "a y before=x n=1 sum=3 brief=x/true")

	d.Crash()
	in.SendAt(at(10), "b", "z") // moves the watermark: a's timer of second 8 fires
	expect(t, "timer after a crash", texts(out), "a event 12:00:08 last=y", "b z before= n=1 sum=4 brief=/false")

	d.Advance(30 * time.Second) // brief expires
	in.SendAt(at(11), "a", "x")
	expect(t, "expired", texts(out), "a x before=y n=3 sum=5 brief=/false")
	d.Advance(29 * time.Second)
	expect(t, "too early", texts(alerts))
	d.Advance(time.Second)
	// b's was set at second 0 of the wall clock, a's again at second 30.
	expect(t, "clock", texts(alerts), "b clock 12:01:00 n=1")
	d.Advance(time.Minute)
	expect(t, "clock, later", texts(alerts), "a clock 12:01:30 n=4")
	in.End()
	expect(t, "end", texts(out), "b event 12:00:15 last=z", "a event 12:00:16 last=x")
}

func TestProcessFails(t *testing.T) {
	d := streamtest.New(t, everything(stream.Fail), streamtest.StartAt(start))
	d.In[string, string]("in").SendAt(at(0), "a", "bad")
	var e *stream.Error
	if err := d.Err(); !errors.Is(err, errNo) || !errors.As(err, &e) || e.Node != "p" || e.Origin.Topic != "in" {
		t.Errorf("got %v", err)
	}
}

func TestProcessWithStateBehindAChangedKeyIsRepartitioned(t *testing.T) {
	b := stream.New("rekeyed")
	b.Source(kafka.Source("in", serde.String, serde.String)).
		SelectKey(func(_, v string) string { return v[:1] }).
		ProcessValues(func(p *stream.Processor[string, string, string]) func(stream.Record[string, string]) error {
			n := p.Value("n", serde.Int64)
			return func(r stream.Record[string, string]) error {
				i, _ := n.Get()
				n.Set(i + 1)
				p.Emit(r.Key, fmt.Sprint(r.Value, i+1))
				return nil
			}
		}, stream.Named("count")).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.Partitions(4))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	for i := range 10 {
		in.Send(fmt.Sprint(i), "v")
	}
	got := texts(out)
	if len(got) != 10 || got[9] != "v v10" {
		t.Errorf("got %q", got)
	}
}
