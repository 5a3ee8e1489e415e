package stream_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

func printTimed[K, V any](r stream.Record[K, V]) error {
	fmt.Println(r.Time.UTC().Format("15:04:05"), r.Value)
	return nil
}

func ExampleStream_Join() {
	b := stream.New("example")
	orders := readings(b, "orders", [2]int{1, 10}, [2]int{50, 20})
	payments := readings(b, "payments", [2]int{3, 11})
	orders.Join(payments, window.Within(10*time.Second), func(order, payment int) string {
		return fmt.Sprint(order, " paid with ", payment)
	}).ForEach(printTimed)
	runExample(b)
	// Output: 12:00:03 10 paid with 11
}

func ExampleStream_LeftJoin() {
	b := stream.New("example")
	orders := readings(b, "orders", [2]int{1, 10}, [2]int{50, 20})
	payments := readings(b, "payments", [2]int{3, 11}, [2]int{4, 12})
	orders.LeftJoin(payments, window.Within(10*time.Second), func(order, payment int, paid bool) string {
		return fmt.Sprint(order, " paid with ", payment, " ", paid)
	}).ForEach(printTimed)
	runExample(b)
	// Output:
	// 12:00:03 10 paid with 11 true
	// 12:00:04 10 paid with 12 true
	// 12:00:50 20 paid with 0 false
}

func ExampleCogrouped_Aggregate() {
	b := stream.New("example")
	in := readings(b, "in", [2]int{1, 10}, [2]int{2, 5}).GroupByKey()
	out := readings(b, "out", [2]int{3, 8}).GroupByKey()
	in.Cogroup(func(_ string, v, r int) int { return r + v }).
		And(out, func(_ string, v, r int) int { return r - v }).
		Aggregate(func() int { return 0 }). // emits once per checkpoint
		ToStream().ForEach(printTimed)
	runExample(b)
	// Output: 12:00:03 7
}

func ExampleCogrouped_AggregateSession() {
	b := stream.New("example")
	in := readings(b, "in", [2]int{1, 10}, [2]int{40, 5}).GroupByKey()
	out := readings(b, "out", [2]int{3, 8}).GroupByKey()
	in.Cogroup(func(_ string, v, r int) int { return r + v }).
		And(out, func(_ string, v, r int) int { return r - v }).
		AggregateSession(window.Session(10*time.Second), func() int { return 0 }, func(_ string, a, b int) int { return a + b }).
		ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:01 12:00:03.001 2
	// 12:00:40 12:00:40.001 5
}

func ExampleGrouped_SessionBy() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 3}, [2]int{3, 20}, [2]int{20, 3}, [2]int{30, 3}).GroupByKey().
		SessionBy(window.Session(time.Second), func(_ string, v int) time.Duration { return time.Duration(v) * time.Second }).
		Count().ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:01 12:00:20.001 3
	// 12:00:30 12:00:30.001 1
}

func ExampleSessions_Reduce() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{30, 5}).GroupByKey().
		Session(window.Session(10 * time.Second)).Reduce(sumOfInts).ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:01 12:00:08.001 30
	// 12:00:30 12:00:30.001 5
}

func ExampleSessions_Aggregate() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{30, 5}).GroupByKey().
		Session(window.Session(10*time.Second)).
		Aggregate(func() []int { return nil },
			func(_ string, v int, all []int) []int { return append(all, v) },
			func(_ string, a, b []int) []int { return append(a, b...) }).
		ToStream().ForEach(printWindow)
	runExample(b)
	// Output:
	// 12:00:01 12:00:08.001 [10 20]
	// 12:00:30 12:00:30.001 [5]
}

func ExampleWindowed_Late() {
	b := stream.New("example")
	w := readings(b, "in", [2]int{1, 10}, [2]int{12, 20}, [2]int{2, 5}).GroupByKey().Window(window.Tumbling(10 * time.Second))
	w.Count()
	w.Late().ForEach(printTimed)
	runExample(b)
	// Output: 12:00:02 5
}

func ExampleSessions_Late() {
	b := stream.New("example")
	s := readings(b, "in", [2]int{1, 10}, [2]int{30, 20}, [2]int{2, 5}).GroupByKey().Session(window.Session(10 * time.Second))
	s.Count()
	s.Late().ForEach(printTimed)
	runExample(b)
	// Output: 12:00:02 5
}

func ExampleGrouped_TopN() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{2, 40}, [2]int{3, 20}).GroupByKey().
		TopN(2, cmp.Compare[int], stream.OnUpdate).ToStream().ForEach(printTimed)
	runExample(b)
	// Output:
	// 12:00:01 [10]
	// 12:00:02 [40 10]
	// 12:00:03 [40 20]
}

func ExampleStream_Deduplicate() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{2, 10}, [2]int{3, 20}, [2]int{40, 10}).
		Deduplicate(func(_ string, v int) int { return v }, 10*time.Second).ForEach(printTimed)
	runExample(b)
	// Output:
	// 12:00:01 10
	// 12:00:03 20
	// 12:00:40 10
}

func ExampleStream_Sample() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{12, 5}).Sample(10 * time.Second).ForEach(printTimed)
	runExample(b)
	// Output:
	// 12:00:08 20
	// 12:00:12 5
}

func ExampleStream_AsyncMapValues() {
	b := stream.New("example")
	words(b, "to", "be").
		AsyncMapValues(func(ctx context.Context, _ int, s string) (string, error) { // a call of a server, until ctx ends
			return strings.ToUpper(s), ctx.Err()
		}, stream.Async{MaxInFlight: 10, Timeout: time.Minute, Order: stream.ByInput}).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 TO
	// 2 BE
}

// A sensor that says nothing for ten seconds is reported.
func ExampleStream_Process() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{8, 20}, [2]int{30, 5}).
		Process(func(p *stream.Processor[string, string, string]) func(stream.Record[string, int]) error {
			last := p.Value("last", serde.JSON[int]())
			silent := p.EventTimer("silent", func(sensor string, at time.Time) error {
				v, _ := last.Get()
				p.Emit(sensor, fmt.Sprint("silent since it said ", v))
				return nil
			})
			return func(r stream.Record[string, int]) error {
				last.Set(r.Value)
				silent.Set(r.Time.Add(10 * time.Second)) // instead of the time before
				return nil
			}
		}).
		ForEach(printTimed)
	runExample(b)
	// Output:
	// 12:00:18 silent since it said 20
	// 12:00:40 silent since it said 5
}
