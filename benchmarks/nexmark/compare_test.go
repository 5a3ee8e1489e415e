package nexmark

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Every query returns what package answer says, whatever the number of partitions.
func TestQueriesAgainstAnswers(t *testing.T) {
	const count = 48_000 // 48 s of event time, and a multiple of the partitions
	g := event.New(event.Config{PerSecond: 1000})
	for _, q := range Queries() {
		if q.Clock {
			continue // its last windows close when the input has ended and the clock goes on: clock_test.go
		}
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", q.Name, partitions), func(t *testing.T) {
				rows := NewRows(q)
				switch err := Run(t.Context(), q, g, count, partitions, rows.Output()); {
				case errors.Is(err, stream.ErrNotBuilt):
					t.Skip(err)
				case err != nil:
					t.Fatal(err)
				}
				if err := rows.Check(q, g.First(count)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A digest is equal to that of the same rows, in any order and with updates between, and to nothing else.
func TestDigestFindsFaults(t *testing.T) {
	g := event.New(event.Config{PerSecond: 1000})
	for _, name := range []string{"q2", "q17"} {
		q := query(t, name)
		want, err := Expect(t.Context(), q, g, 3000)
		if err != nil {
			t.Fatal(err)
		}
		if want.Count() == 0 {
			t.Fatalf("%s has no rows", name)
		}
		same, less, more := want.Beside(), want.Beside(), want.Beside()
		for d, n := range map[*Digest]uint64{same: 3000, less: 2000, more: 4000} {
			if err := Run(t.Context(), q, g, n, 1, Encoded(d.Add)); err != nil {
				t.Fatal(err)
			}
		}
		if err := same.Check(); err != nil || !same.Complete() {
			t.Errorf("%s: %v", name, err)
		}
		if less.Check() == nil || more.Check() == nil {
			t.Errorf("%s: other events have the same rows", name)
		}
	}
}

// Generator to nothing, with the local exchange: what the engine costs per event.
func BenchmarkQuery(b *testing.B) {
	g := event.New(event.Config{})
	for _, q := range Queries() {
		b.Run(q.Name+"/weir", func(b *testing.B) {
			b.ReportAllocs()
			began := cpu(b)
			switch err := Run(b.Context(), q, g, uint64(b.N), 1, Discard()); {
			case errors.Is(err, stream.ErrNotBuilt):
				b.Skip(err)
			case err != nil:
				b.Fatal(err)
			}
			b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/rec")
		})
	}
}

// cpu is what this process has used, in user and kernel mode.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
