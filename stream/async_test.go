package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// calling is a topology whose calls do what their values say.
func calling(how stream.Async, f func(ctx context.Context, k, v string) (string, error)) *stream.Builder {
	b := stream.New("calling")
	b.Source(kafka.Source("in", serde.String, serde.String)).
		AsyncMapValues(f, how, stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))).
		To(kafka.Sink("out", serde.String, serde.String))
	return b
}

func TestAsyncOutagesAndRefusals(t *testing.T) {
	down := true
	d := streamtest.New(t, calling(stream.Async{}, func(_ context.Context, _, v string) (string, error) {
		switch {
		case v == "no":
			return "", errNo
		case v == "panic":
			panic("oh")
		case v == "later" && down:
			return "", stream.Transient(errors.New("503"))
		}
		return strings.ToUpper(v), nil
	}), streamtest.StartAt(start))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	dead := d.Out[[]byte, []byte]("dead")
	in.SendAt(at(0), "a", "one")
	in.SendAt(at(1), "a", "later")
	in.SendAt(at(2), "a", "two") // waits behind later: it has the same key
	in.SendAt(at(3), "b", "three")
	in.SendAt(at(4), "b", "no")
	in.SendAt(at(4), "b", "panic")
	expect(t, "during the outage", texts(out), "a ONE", "b THREE")
	if got := dead.Read(); len(got) != 2 {
		t.Errorf("%d dead letters, want 2", len(got))
	}
	if w := d.Status().Tasks[0].Watermark; !w.Equal(at(4)) {
		t.Errorf("input watermark %v", w)
	}
	d.Crash() // the calls in flight are made again
	expect(t, "after a crash", texts(out))
	down = false
	d.Advance(20 * time.Second)
	expect(t, "after the outage", texts(out), "a LATER", "a TWO")
	d.Crash()
	expect(t, "once", texts(out))
}

func TestAsyncGivesUp(t *testing.T) {
	d := streamtest.New(t, calling(stream.Async{GiveUpAfter: time.Second}, func(context.Context, string, string) (string, error) {
		return "", stream.Transient(errNo)
	}), streamtest.StartAt(start))
	d.In[string, string]("in").Send("a", "x")
	dead := d.Out[[]byte, []byte]("dead")
	if got := dead.Read(); len(got) != 0 {
		t.Errorf("gave up at once: %v", got)
	}
	d.Advance(5 * time.Second)
	if got := dead.Read(); len(got) != 1 {
		t.Errorf("%d dead letters, want 1", len(got))
	}
}

// TestAsyncKeepsItsOrderAndBound has calls of different lengths run beside each other.
func TestAsyncKeepsItsOrderAndBound(t *testing.T) {
	const n, most = 300, 7
	for _, order := range []stream.Order{stream.ByKey, stream.ByInput, stream.Unordered} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			slots := make(chan struct{}, most)
			out := memory.Collect[string, int64]("out")
			b := stream.New("ordered")
			b.Source(memory.From("in", numbers(n))).
				AsyncMapValues(func(ctx context.Context, _ string, v int64) (int64, error) {
					select {
					case slots <- struct{}{}:
					default:
						return 0, errors.New("too many calls at once")
					}
					for range v % 5 {
						select {
						case <-ctx.Done():
						case <-time.After(time.Millisecond):
						}
					}
					<-slots
					return v, nil
				}, stream.Async{MaxInFlight: most, Order: order}).
				To(out)
			app, err := b.Build(stream.Config{State: state.InMemory(), CheckpointInterval: 3 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := out.Records()
			if len(got) != n {
				t.Fatalf("%d results, want %d", len(got), n)
			}
			last := map[string]int64{}
			for i, r := range got {
				if order == stream.ByInput && r.Value != int64(i) {
					t.Fatalf("result %d is %d", i, r.Value)
				}
				if order == stream.ByKey && r.Value < last[r.Key] {
					t.Fatalf("key %s: %d came after %d", r.Key, r.Value, last[r.Key])
				}
				last[r.Key] = r.Value
			}
		})
	}
}
