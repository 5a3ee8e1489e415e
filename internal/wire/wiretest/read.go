package wiretest

import (
	"context"
	"strconv"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

func testRead(t *testing.T, c Cluster) {
	t.Run("FromTheMiddle", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		k.write(name, "0", "1", "2", "3", "4")
		records, next := k.take(k.reader(name, 3, wire.ReadOptions{}), 2)
		if values(records) != "3 4" || records[0].offset != 3 || next != 5 {
			t.Errorf("read %q from %d, then %d", values(records), records[0].offset, next)
		}
	})
	t.Run("WaitsForRecords", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		r := k.reader(name, 0, wire.ReadOptions{})
		came := make(chan string, 1)
		go func() {
			for k.ctx.Err() == nil {
				b, err := r.Next(k.ctx)
				if err != nil {
					came <- err.Error()
					return
				}
				if len(b.Records) > 0 {
					came <- string(b.Records[0].Value)
					return
				}
			}
		}()
		k.write(name, "late")
		if got := <-came; got != "late" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("TellsWhereItIs", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		k.write(name, "0", "1")
		r := k.reader(name, 0, wire.ReadOptions{})
		for {
			b, err := r.Next(k.ctx)
			k.must(err)
			if b.TopicPartition != at(name, 0) || b.High > 2 || b.Stable > b.High || b.Next > b.High {
				t.Fatalf("batch %+v", b)
			}
			if len(b.Records) > 0 && b.Bytes <= 0 {
				t.Errorf("%d records in %d bytes", len(b.Records), b.Bytes)
			}
			done := b.Next == 2 && b.High == 2 && b.Stable == 2
			b.Release()
			b.Release() // once more is nothing
			if done {
				return
			}
		}
	})
	t.Run("EndedContext", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		r := k.reader(name, 0, wire.ReadOptions{})
		ended, cancel := context.WithCancel(k.ctx)
		cancel()
		for range 1000 { // news may come first, but not for ever
			b, err := r.Next(ended)
			if err != nil {
				k.is(err, context.Canceled)
				return
			}
			if len(b.Records) > 0 {
				t.Fatalf("an empty topic has %v", keep(b))
			}
			b.Release()
		}
		t.Error("an ended context never ends Next")
	})
	t.Run("OffsetGone", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		k.write(name, "0", "1", "2")
		k.must(k.log.DeleteRecords(k.ctx, map[wire.TopicPartition]int64{at(name, 0): 2}))
		for _, from := range []int64{0, 1, 4} {
			r := k.reader(name, from, wire.ReadOptions{})
			for {
				b, err := r.Next(k.ctx)
				if err != nil {
					k.is(err, wire.ErrOffsetGone)
					break
				}
				if len(b.Records) > 0 {
					t.Fatalf("from %d came %v", from, keep(b))
				}
			}
		}
	})
	t.Run("MissingTopic", func(t *testing.T) {
		k := c.start(t)
		_, err := k.log.Read(k.ctx, at(k.name+"-missing", 0), 0, wire.ReadOptions{})
		k.is(err, wire.ErrNoTopic)
		_, err = k.log.Read(k.ctx, at(k.topic("a", 1), 1), 0, wire.ReadOptions{})
		k.is(err, wire.ErrNoTopic)
	})
	t.Run("MaxBytesHoldsBack", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		const n, size = 200, 1000
		w := k.writer(wire.WriterConfig{BatchBytes: 5 * size})
		a := k.appender(w, 1)
		o := k.out(a, name)
		for i := range n {
			o.Append(0, k.now(), []byte(strconv.Itoa(i)), make([]byte, size), nil)
		}
		a.Cut(1)
		_, err := w.Flush(k.ctx, 1)
		k.must(err)
		r := k.reader(name, 0, wire.ReadOptions{MaxBytes: 10 * size})
		ended, cancel := context.WithCancel(k.ctx)
		var held []*wire.Batch
		read, bytes := 0, 0
		for read == 0 || bytes < 10*size { // then nothing more may come before something is released
			b, err := r.Next(k.ctx)
			k.must(err)
			held, read, bytes = append(held, b), read+len(b.Records), bytes+b.Bytes
		}
		if read == n {
			t.Fatalf("all %d records came at once, in %d bytes", n, bytes)
		}
		cancel()
		for range 10 {
			if b, err := r.Next(ended); err == nil && len(b.Records) > 0 {
				t.Fatalf("%d bytes are held and %d records more came", bytes, len(b.Records))
			}
		}
		for _, b := range held {
			b.Release()
		}
		k.take(r, n-read)
	})
	t.Run("HeadersOnlyWhenAsked", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1)
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 1)
		k.out(a, name).Append(0, k.now(), nil, []byte("v"), []wire.Header{{Key: "h", Value: []byte("1")}})
		a.Cut(1)
		_, err := w.Flush(k.ctx, 1)
		k.must(err)
		without, _ := k.take(k.reader(name, 0, wire.ReadOptions{}), 1)
		with, _ := k.take(k.reader(name, 0, wire.ReadOptions{Headers: true}), 1)
		if without[0].headers != nil || len(with[0].headers) != 1 {
			t.Errorf("without: %v, with: %v", without[0].headers, with[0].headers)
		}
	})
}
