package memory_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
)

// What a record costs on its way into a topic and out again, in transactions of 10,000: the floor of every benchmark that runs on
// the memory cluster.
func BenchmarkWriteAndRead(b *testing.B) {
	c := &memory.Cluster{}
	if err := c.Create("t", 1, nil); err != nil {
		b.Fatal(err)
	}
	l := connect(b, c)
	who := soleMember(b, l).Identity()
	tx, err := l.Transactions(b.Context(), wire.TxConfig{IDs: [2]string{"x-0", "x-1"}, Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	a, _ := tx.Appender("task", 1)
	o, err := a.To(b.Context(), "t")
	if err != nil {
		b.Fatal(err)
	}
	t := wire.TopicPartition{Topic: "t"}
	r, err := l.Read(b.Context(), t, 0, wire.ReadOptions{Committed: true})
	if err != nil {
		b.Fatal(err)
	}
	key, value, now := make([]byte, 10), make([]byte, 100), c.Now().UnixMilli()
	const size = 10_000
	b.ReportAllocs()
	n, written, read := uint64(1), 0, 0
	for b.Loop() {
		o.Append(0, now, key, value, nil)
		if written++; written%size != 0 {
			continue
		}
		a.Cut(n)
		if _, err := tx.Flush(b.Context(), n); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(b.Context(), n, who, somewhere); err != nil {
			b.Fatal(err)
		}
		n++
		for read < written {
			batch, err := r.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			read += len(batch.Records)
			end := batch.Next
			batch.Release()
			if err := l.DeleteRecords(b.Context(), map[wire.TopicPartition]int64{t: end}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// What a test pays for a process that starts, commits ten checkpoints and is read: a seed of the fault tests has to fit into 2 ms.
func BenchmarkSmallRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := &memory.Cluster{Start: epoch, AutoCreate: 4}
		l := connect(b, c)
		who := soleMember(b, l).Identity()
		tx, err := l.Transactions(b.Context(), wire.TxConfig{IDs: [2]string{"x-0", "x-1"}, Timeout: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		a, _ := tx.Appender("task", 1)
		o, _ := a.To(b.Context(), "t")
		for n := uint64(1); n <= 10; n++ {
			for i := range int32(4) {
				o.Append(i, epoch.UnixMilli(), []byte("key"), []byte("value"), nil)
			}
			a.Cut(n)
			if err := tx.Commit(b.Context(), n, who, somewhere); err != nil {
				b.Fatal(err)
			}
		}
		if records, _, _ := c.Records("t", 0, 0); len(records) != 10 {
			b.Fatal(len(records))
		}
	}
}
