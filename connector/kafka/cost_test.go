package kafka

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// cpu is what this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead prints the CPU of a record; benchmarks/ has the comparison with other clients.
func BenchmarkRead(b *testing.B) {
	if !kafkatest.Real() {
		b.Skip("an embedded broker would be measured with the client: set WEIR_KAFKA=real")
	}
	const total = 1_000_000
	r := newRig(b)
	topic := fmt.Sprintf("read-%d", time.Now().UnixNano())
	if _, err := r.admin.CreateTopic(b.Context(), 4, 1, nil, topic); err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 100)
	plain := client(b, r.brokers, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range total {
		plain.Produce(b.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 4), Value: value}, nil)
	}
	if err := plain.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		start := cpu()
		n := 0
		done := make(chan int, 4)
		for p := range int32(4) {
			rd, err := r.log.Read(b.Context(), wire.TopicPartition{Topic: topic, Partition: p}, 0, wire.ReadOptions{Committed: true})
			if err != nil {
				b.Fatal(err)
			}
			go func() {
				defer rd.Close()
				got := 0
				for got < total/4 {
					batch, err := rd.Next(b.Context())
					if err != nil {
						b.Error(err)
						break
					}
					got += len(batch.Records)
					batch.Release()
				}
				done <- got
			}()
		}
		for range 4 {
			n += <-done
		}
		b.ReportMetric(float64((cpu()-start).Nanoseconds())/float64(n), "cpu-ns/record")
		b.ReportMetric(0, "ns/op")
	}
}

func BenchmarkWrite(b *testing.B) {
	if !kafkatest.Real() {
		b.Skip("an embedded broker would be measured with the client: set WEIR_KAFKA=real")
	}
	const total = 1_000_000
	r := newRig(b)
	topic := fmt.Sprintf("write-%d", time.Now().UnixNano())
	if _, err := r.admin.CreateTopic(b.Context(), 4, 1, nil, topic); err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 100)
	for b.Loop() {
		start, wall := cpu(), time.Now()
		w, err := r.log.Writer(b.Context(), wire.WriterConfig{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := w.Appender("task", 1)
		if err != nil {
			b.Fatal(err)
		}
		to, err := a.To(b.Context(), topic)
		if err != nil {
			b.Fatal(err)
		}
		now := time.Now().UnixMilli()
		for i := range total {
			if i%100 == 0 {
				for w.Full() {
					<-w.Drained()
				}
			}
			to.Append(int32(i%4), now, nil, value, nil)
		}
		a.Cut(1)
		ends, err := w.Flush(b.Context(), 1)
		if err != nil {
			b.Fatal(err)
		}
		if len(ends) != 4 {
			b.Fatalf("ends %v", ends)
		}
		w.Close()
		b.ReportMetric(float64((cpu()-start).Nanoseconds())/float64(total), "cpu-ns/record")
		b.ReportMetric(float64(time.Since(wall).Nanoseconds())/float64(total), "wall-ns/record")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkCommit commits checkpoints of 100 records in 4 partitions and prints how long the commit itself took.
func BenchmarkCommit(b *testing.B) {
	if !kafkatest.Real() {
		b.Skip("an embedded broker's commits cost nothing: set WEIR_KAFKA=real")
	}
	r := &txRig{rig: newRig(b)}
	name := fmt.Sprintf("commit-%d", time.Now().UnixNano())
	r.ids = [2]string{name + "-0", name + "-1"}
	r.who = r.member(name)
	tx := r.open()
	topic := r.topic(4)
	a := r.appender(tx, "t", 1)
	to := r.to(a, topic)
	var took []time.Duration
	for n := uint64(1); b.Loop(); n++ {
		for i := range 100 {
			to.Append(int32(i%4), now(), nil, []byte("value"), nil)
		}
		a.Cut(n)
		r.flush(tx, n)
		start := time.Now()
		if err := tx.Commit(b.Context(), n, r.who, r.at(topic, int64(n))); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "commit-p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "commit-p99-µs")
}
