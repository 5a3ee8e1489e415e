package stream_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

func millisAt(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

// A record is late when all its spans have closed, and is then not lost: it comes out of Late, asked for before or after the aggregate.
func TestLateRecordsAreAStream(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprint("late first ", first), func(t *testing.T) {
			b := stream.New("late")
			w := source(b, "in").GroupByKey().Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond).Grace(10 * time.Millisecond))
			late := memory.Collect[string, int64]("late")
			if first {
				w.Late().To(late)
			}
			w.Count().ToStream().To(memory.Collect[window.Key[string], int64]("out"))
			if !first {
				w.Late().To(late)
			}
			d := streamtest.New(t, b)
			in, out, aside := d.In[string, int64]("in"), d.Out[window.Key[string], int64]("out"), d.Out[string, int64]("late")
			in.SendAt(millisAt(120), "k", 1)
			in.SendAt(millisAt(161), "k", 2) // closes [50,150) at 160
			in.SendAt(millisAt(101), "k", 3) // late for [50,150), in time for [100,200)
			in.SendAt(millisAt(99), "k", 4)  // late for both of its spans
			if got := lines(aside.Read()); !slices.Equal(got, []string{"1000099 k 4"}) {
				t.Errorf("late: %q", got)
			}
			in.End()
			var got []string
			for _, r := range out.Read() {
				start, _ := r.Key.Span.Millis()
				got = append(got, fmt.Sprint(start-1_000_000, ":", r.Value))
			}
			if !slices.Equal(got, []string{"50:1", "100:3", "150:1"}) {
				t.Errorf("windows: %q", got)
			}
		})
	}
}

func TestLateNeedsAnAggregate(t *testing.T) {
	b := stream.New("late")
	source(b, "in").GroupByKey().Window(window.Tumbling(time.Second)).Late().To(memory.Collect[string, int64]("late"))
	if _, err := b.Build(stream.Config{}); err == nil {
		t.Error("Late without an aggregate was built")
	}
}

// A function that gives up on a record leaves every accumulator as it was, though it changed some in place before.
func TestRejectedRecordsLeaveWindowsAlone(t *testing.T) {
	bad := errors.New("bad")
	add := func(_ string, v int64, r []int64) []int64 {
		if len(r) > 0 {
			r[0] += v
		}
		if v == 13 && len(r) > 0 { // fails in the second of its spans
			stream.Reject(bad)
		}
		if len(r) == 0 {
			return append(r, v)
		}
		return r
	}
	none := func() []int64 { return nil }
	b := stream.New("reject")
	g := source(b, "in").GroupByKey()
	g.Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond)).Aggregate(none, add, stream.OnError(stream.Skip)).
		ToStream().To(memory.Collect[window.Key[string], []int64]("windows"))
	g.Session(window.Session(time.Second)).Aggregate(none, add, func(_ string, a, b []int64) []int64 { return append(a, b...) },
		stream.OnError(stream.Skip), stream.Named("sessions")).ToStream().To(memory.Collect[window.Key[string], []int64]("sessions"))
	d := streamtest.New(t, b)
	in := d.In[string, int64]("in")
	windows, sessions := d.Out[window.Key[string], []int64]("windows"), d.Out[window.Key[string], []int64]("sessions")
	for i, v := range []int64{1, 13, 2} {
		in.SendAt(millisAt(int64(60+i)), "k", v)
	}
	in.End()
	for _, r := range windows.Read() {
		if !slices.Equal(r.Value, []int64{3}) {
			t.Errorf("window %v: %v", r.Key, r.Value)
		}
	}
	if got := sessions.Read(); len(got) != 1 || !slices.Equal(got[0].Value, []int64{3}) {
		t.Errorf("sessions: %v", got)
	}
}

// The clocks of the examples begin at noon.
func noonAt(seconds int) time.Time {
	return time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC)
}

// readings is a bounded stream of what sensors measured at seconds past noon.
func readings(b *stream.Builder, name string, values ...[2]int) *stream.Stream[string, int] {
	return b.Source(memory.From(name, func(yield func(stream.Record[string, int]) bool) {
		for _, v := range values {
			if !yield(stream.Record[string, int]{Key: "a", Value: v[1], Time: noonAt(v[0])}) {
				return
			}
		}
	}), stream.MaxFuture(-1))
}

func printWindow[V any](r stream.Record[window.Key[string], V]) error {
	fmt.Println(r.Key.Span.Start().Format("15:04:05"), r.Key.Span.End().Format("15:04:05.999"), r.Value)
	return nil
}

func sumOfInts(a, b int) int { return a + b }

func ExampleWindowed_Count() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{12, 5}).GroupByKey().
		Window(window.Tumbling(10 * time.Second)).Count().ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:00 12:00:10 2
	// 12:00:10 12:00:20 1
}

func ExampleWindowed_Reduce() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}).GroupByKey().
		Window(window.Hopping(10*time.Second, 5*time.Second)).Reduce(sumOfInts).ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 11:59:55 12:00:05 10
	// 12:00:00 12:00:10 30
	// 12:00:05 12:00:15 20
}

func ExampleWindowed_Aggregate() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{3, 20}).GroupByKey().
		Window(window.Sliding(5*time.Second)).
		Aggregate(func() []int { return nil }, func(_ string, v int, all []int) []int { return append(all, v) }).
		ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 11:59:56 12:00:01.001 [10]
	// 11:59:58 12:00:03.001 [10 20]
	// 12:00:01 12:00:06.002 [20]
}

func ExampleWindowed_TopN() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{3, 40}, [2]int{5, 20}).GroupByKey().
		Window(window.Tumbling(10*time.Second)).TopN(2, cmp.Compare[int]).ToStream().ForEach(printWindow)
	runExample(b)
	// Output: 12:00:00 12:00:10 [40 20]
}

func ExampleSessions_Count() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{30, 5}).GroupByKey().
		Session(window.Session(10 * time.Second)).Count().ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:01 12:00:08.001 2
	// 12:00:30 12:00:30.001 1
}

func ExampleStream_OuterJoin() {
	b := stream.New("example")
	orders := readings(b, "orders", [2]int{1, 10}, [2]int{50, 20})
	payments := readings(b, "payments", [2]int{3, 10})
	orders.OuterJoin(payments, window.Within(10*time.Second), func(order, payment int, m stream.Match) string {
		if m == stream.LeftOnly {
			return fmt.Sprint(order, " unpaid")
		}
		return fmt.Sprint(order, " paid with ", payment)
	}).ForEach(func(r stream.Record[string, string]) error {
		fmt.Println(r.Time.UTC().Format("15:04:05"), r.Value)
		return nil
	})
	runExample(b)
	// Output:
	// 12:00:03 10 paid with 10
	// 12:00:50 20 unpaid
}

func ExampleCogrouped_AggregateWindow() {
	b := stream.New("example")
	in := readings(b, "in", [2]int{1, 10}, [2]int{2, 5}).GroupByKey()
	out := readings(b, "out", [2]int{3, 8}).GroupByKey()
	in.Cogroup(func(_ string, v, r int) int { return r + v }).
		And(out, func(_ string, v, r int) int { return r - v }).
		AggregateWindow(window.Tumbling(10*time.Second), func() int { return 0 }).
		ToStream().ForEach(printWindow)
	runExample(b)
	// Output: 12:00:00 12:00:10 7
}

// A window that has closed before a crash does not take a late record after it, and does not fire again: behind an exchange too, whose
// sender has nothing new to say.
func TestClosedStaysClosedAfterACrash(t *testing.T) {
	for _, w := range []window.Spec{window.Tumbling(100 * time.Millisecond), window.Hopping(100*time.Millisecond, 50*time.Millisecond)} {
		b := stream.New("closed")
		late := source(b, "in").GroupBy(func(k string, _ int64) string { return k }).Window(w)
		late.Count().ToStream().To(memory.Collect[window.Key[string], int64]("out"))
		late.Late().To(memory.Collect[string, int64]("late"))
		d := streamtest.New(t, b, streamtest.ManualCheckpoints())
		in, out, missed := d.In[string, int64]("in"), d.Out[window.Key[string], int64]("out"), d.Out[string, int64]("late")
		in.SendAt(millisAt(10), "k", 1)
		in.SendAt(millisAt(250), "k", 1)
		d.Checkpoint()
		closed := len(out.Read())
		d.Crash()
		in.SendAt(millisAt(20), "k", 1)
		in.End()
		for range 3 {
			d.Checkpoint()
		}
		if rest := out.Read(); closed == 0 || len(rest) != closed {
			t.Errorf("%v: %d results before the crash, then %v", w, closed, rest)
		}
		if got := missed.Read(); len(got) != 1 {
			t.Errorf("%v: late are %v", w, got)
		}
	}
}
