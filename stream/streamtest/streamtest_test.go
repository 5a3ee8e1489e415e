package streamtest_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func none[K, V any](yield func(stream.Record[K, V]) bool) {}

func counting() *stream.Builder {
	b := stream.New("counting")
	b.Source(memory.From[string, string]("words", none[string, string])).
		GroupBy(func(_, w string) string { return w }).
		Count().
		To(memory.Collect[string, int64]("counts"))
	return b
}

func TestInAndOutTakeThePlaceOfConnectors(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			d := streamtest.New(t, counting(), streamtest.Partitions(partitions))
			in, out := d.In[string, string]("words"), d.Out[string, int64]("counts")
			for i, w := range []string{"a", "b", "a", "c", "a"} {
				in.Send(fmt.Sprint(i), w)
			}
			if got, want := streamtest.Rows(out), map[string]int64{"a": 3, "b": 1, "c": 1}; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			in.Send("x", "b")
			if got, want := streamtest.Rows(out), map[string]int64{"b": 2}; !maps.Equal(got, want) {
				t.Errorf("a second read: got %v, want %v", got, want)
			}
		})
	}
}

func TestCrashLosesNothingAndRepeatsNothing(t *testing.T) {
	d := streamtest.New(t, counting(), streamtest.ManualCheckpoints())
	in, out := d.In[string, string]("words"), d.Out[string, int64]("counts")
	in.Send("", "a")
	d.Checkpoint()
	in.Send("", "a")
	d.Crash()
	if got := out.Read(); len(got) != 1 || got[0].Value != 1 {
		t.Errorf("before the second checkpoint: %v", got)
	}
	d.Checkpoint()
	if got := out.Read(); len(got) != 1 || got[0].Value != 2 {
		t.Errorf("after it: %v", got)
	}
}

func TestErrSaysWhyTheAppFailed(t *testing.T) {
	bad := errors.New("bad")
	b := stream.New("failing")
	b.Source(memory.From[string, int]("in", none[string, int])).
		TryMapValues(func(v int) (int, error) {
			if v < 0 {
				return 0, bad
			}
			return v, nil
		}).
		To(memory.Collect[string, int]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, int]("in"), d.Out[string, int]("out")
	in.Send("k", 1)
	if got := out.Read(); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	in.Send("k", -1)
	if err := d.Err(); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	if got := out.Read(); len(got) != 0 {
		t.Errorf("a failed app has written %v", got)
	}
	if s := d.Status(); s.State != "failed" {
		t.Errorf("state %q", s.State)
	}
	d.Crash() // the record is still there
	if err := d.Err(); !errors.Is(err, bad) {
		t.Errorf("after a crash: %v", err)
	}
}

func TestPromisesMoveTheWatermark(t *testing.T) {
	b := stream.New("promises")
	b.Source(memory.From[string, int]("in", none[string, int])).ForEach(func(stream.Record[string, int]) error { return nil })
	d := streamtest.New(t, b, streamtest.StartAt(noon), streamtest.Partitions(2))
	in := d.In[string, int]("in")
	in.Advance(noon.Add(time.Minute))
	for _, task := range d.Status().Tasks {
		if !task.Watermark.Equal(noon.Add(time.Minute)) {
			t.Errorf("task %s: watermark %v", task.Task, task.Watermark)
		}
	}
	d.Crash()
	for _, task := range d.Status().Tasks {
		if !task.Watermark.Equal(noon.Add(time.Minute)) {
			t.Errorf("after a crash: task %s: watermark %v", task.Task, task.Watermark)
		}
	}
	in.End()
	for _, task := range d.Status().Tasks {
		if task.Watermark.Before(noon.AddDate(1000, 0, 0)) {
			t.Errorf("at the end: task %s: watermark %v", task.Task, task.Watermark)
		}
	}
}

func TestAdvanceMakesInputsIdle(t *testing.T) {
	b := stream.New("idle")
	b.Source(memory.From[string, int]("in", none[string, int]), stream.IdleAfter(time.Minute)).
		ForEach(func(stream.Record[string, int]) error { return nil })
	d := streamtest.New(t, b, streamtest.StartAt(noon), streamtest.Partitions(2))
	in := d.In[string, int]("in")
	in.SendAt(noon, "k", 1)
	d.Advance(time.Hour)
	if now := d.Now(); !now.Equal(noon.Add(time.Hour)) {
		t.Errorf("the clock says %v", now)
	}
	for _, task := range d.Status().Tasks {
		if task.HeldBy != "" {
			t.Errorf("task %s is held by %s", task.Task, task.HeldBy)
		}
	}
}
