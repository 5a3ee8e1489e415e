// Package clients measures Kafka clients on the same broker in the same run: sarama by its high-level API, franz-go, and
// weir's own readers and writers. What counts is CPU time of this process per record, so the broker must be another one:
// with the embedded broker (the default, for CI) the benchmarks only show that they work.
package clients

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/kafkatest"
)

const (
	partitions = 4
	valueBytes = 100
)

// records is how many one iteration moves: enough on a real broker to forget the joining of a group.
func records() int {
	if kafkatest.Real() {
		return 500_000
	}
	return 10_000
}

// input makes a topic full of records with 100-byte values.
func input(b *testing.B, broker *kafkatest.Broker) string {
	b.Helper()
	topic := broker.Topic("bench-in", partitions)
	n := records()
	batch := make([]*kafkatest.Record, 0, n/partitions)
	for p := range int32(partitions) {
		batch = batch[:0]
		for i := range n / partitions {
			batch = append(batch, kafkatest.KV(fmt.Sprintf("key-%06d", i%100_000), string(value(i))))
		}
		broker.ProduceTo(topic, p, batch...)
	}
	return topic
}

// value is 100 bytes that do not compress to nothing.
func value(i int) []byte {
	v := make([]byte, valueBytes)
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	for j := range v {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		v[j] = 'a' + byte(x%26)
	}
	return v
}

// measure runs move once to warm up and then b.N times, and reports CPU nanoseconds per record.
func measure(b *testing.B, move func() error) {
	b.Helper()
	once := func() {
		if err := move(); err != nil {
			b.Fatal(err)
		}
	}
	once()
	b.ReportAllocs()
	began, before := time.Now(), cpu(b)
	n := 0
	for b.Loop() {
		once()
		n += records()
	}
	spent, took := cpu(b)-before, time.Since(began)
	b.ReportMetric(float64(spent.Nanoseconds())/float64(n), "cpu-ns/rec")
	b.ReportMetric(float64(n)/took.Seconds(), "rec/s")
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
