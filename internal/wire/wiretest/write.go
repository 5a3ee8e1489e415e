package wiretest

import (
	"bytes"
	"context"
	"maps"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

func testWrite(t *testing.T, c Cluster) {
	t.Run("RecordsArriveAsTheyWere", func(t *testing.T) {
		k := c.start(t)
		name, now := k.topic("a", 1), k.now()
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 1)
		o := k.out(a, name)
		key := []byte("key")
		o.Append(0, now, key, []byte{}, []wire.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}})
		copy(key, "XXX") // Append has copied it
		o.Append(0, now-5000, nil, []byte("v"), nil)
		o.Append(0, now+1, []byte{}, nil, nil)
		a.Cut(1)
		ends, err := w.Flush(k.ctx, 1)
		k.must(err)
		if want := map[wire.TopicPartition]int64{at(name, 0): 3}; !maps.Equal(ends, want) {
			t.Errorf("Flush says %v, want %v", ends, want)
		}
		r, err := k.log.Read(k.ctx, at(name, 0), 0, wire.ReadOptions{Headers: true})
		k.must(err)
		defer r.Close()
		var records []wire.Record // of batches that are not released
		for len(records) < 3 {
			b, err := r.Next(k.ctx)
			k.must(err)
			records = append(records, b.Records...)
		}
		for i, want := range []wire.Record{
			{Offset: 0, Time: now, Key: []byte("key"), Value: []byte{}},
			{Offset: 1, Time: now - 5000, Key: nil, Value: []byte("v")},
			{Offset: 2, Time: now + 1, Key: []byte{}, Value: nil},
		} {
			got := records[i]
			if got.Offset != want.Offset || got.Time != want.Time || !same(got.Key, want.Key) || !same(got.Value, want.Value) {
				t.Errorf("record %d is %+v, want %+v", i, got, want)
			}
		}
		h := records[0].Headers
		if len(h) != 2 || h[0].Key != "h" || string(h[0].Value) != "1" || h[1].Key != "h" || len(h[1].Value) != 0 {
			t.Errorf("headers are %+v", h)
		}
	})
	t.Run("OrderAcrossBatches", func(t *testing.T) {
		for codec, compression := range map[string]wire.Compression{
			"none": wire.None, "gzip": wire.Gzip, "snappy": wire.Snappy, "lz4": wire.LZ4, "zstd": wire.Zstd,
		} {
			t.Run(codec, func(t *testing.T) { testOrder(c.start(t), compression) })
		}
	})
	t.Run("FlushWaitsForEveryCut", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 2)
		w := k.writer(wire.WriterConfig{})
		a, b := k.appender(w, 1), k.appender(w, 1)
		k.out(a, name).Append(0, k.now(), nil, []byte("a"), nil)
		k.out(b, name).Append(1, k.now(), nil, []byte("b"), nil)
		a.Cut(1)
		ended, cancel := context.WithCancel(k.ctx)
		cancel()
		if ends, err := w.Flush(ended, 1); err == nil {
			t.Fatalf("Flush returned %v before the second appender cut", ends)
		}
		b.Cut(1)
		ends, err := w.Flush(k.ctx, 1)
		k.must(err)
		if want := map[wire.TopicPartition]int64{at(name, 0): 1, at(name, 1): 1}; !maps.Equal(ends, want) {
			t.Errorf("Flush says %v, want %v", ends, want)
		}
		a.Close() // it will not cut 2, and is not waited for
		k.out(b, name).Append(1, k.now(), nil, []byte("b"), nil)
		b.Cut(2)
		ends, err = w.Flush(k.ctx, 2)
		k.must(err)
		if want := map[wire.TopicPartition]int64{at(name, 1): 2}; !maps.Equal(ends, want) {
			t.Errorf("Flush says %v, want %v", ends, want)
		}
	})
	t.Run("EmptyCut", func(t *testing.T) {
		k := c.start(t)
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 7)
		a.Cut(7)
		ends, err := w.Flush(k.ctx, 7)
		k.must(err)
		if len(ends) != 0 {
			t.Errorf("Flush says %v", ends)
		}
	})
	t.Run("MissingTopic", func(t *testing.T) {
		k := c.start(t)
		_, err := k.appender(k.writer(wire.WriterConfig{}), 1).To(k.ctx, k.name+"-missing")
		k.is(err, wire.ErrNoTopic)
	})
	t.Run("MaxBytes", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1, "max.message.bytes=2000")
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 1)
		o := k.out(a, name)
		if o.Partitions() != 1 || o.MaxBytes() > 2000 || o.MaxBytes() < 1500 {
			t.Fatalf("%d partitions, MaxBytes %d", o.Partitions(), o.MaxBytes())
		}
		o.Append(0, k.now(), nil, make([]byte, o.MaxBytes()), nil)
		a.Cut(1)
		_, err := w.Flush(k.ctx, 1)
		k.must(err)
	})
	t.Run("TooLargeFails", func(t *testing.T) {
		k := c.start(t)
		name := k.topic("a", 1, "max.message.bytes=2000")
		k.refused(name, k.now(), make([]byte, 3000))
	})
	t.Run("TooFarAheadFails", func(t *testing.T) {
		c.strict(t)
		k := c.start(t)
		k.refused(k.topic("a", 1), k.now()+(3*time.Hour).Milliseconds(), []byte("v"))
		name := k.topic("b", 1, "message.timestamp.after.max.ms=9223372036854775807")
		w := k.writer(wire.WriterConfig{})
		a := k.appender(w, 1)
		k.out(a, name).Append(0, k.now()+(3*time.Hour).Milliseconds(), nil, []byte("v"), nil)
		a.Cut(1)
		_, err := w.Flush(k.ctx, 1)
		k.must(err)
	})
	t.Run("Closed", func(t *testing.T) {
		k := c.start(t)
		w := k.writer(wire.WriterConfig{})
		k.must(w.Close())
		if _, err := w.Flush(k.ctx, 1); err == nil {
			t.Error("Flush of a closed writer succeeds")
		}
	})
}

// refused fails unless the cluster refuses a record for good.
func (k *kit) refused(topic string, time int64, value []byte) {
	k.Helper()
	w := k.writer(wire.WriterConfig{Name: "refused"})
	a := k.appender(w, 1)
	k.out(a, topic).Append(0, time, []byte("k"), value, nil)
	a.Cut(1)
	_, err := w.Flush(k.ctx, 1)
	k.is(err, wire.ErrRefused)
	select {
	case <-w.Failed():
	case <-k.ctx.Done():
		k.Fatal("Failed is not closed")
	}
	k.is(w.Err(), wire.ErrRefused)
	k.offset(wire.End, topic, 0)
}

// testOrder writes enough for many batches in two partitions and reads them back.
func testOrder(k *kit, compression wire.Compression) {
	const n = 3000
	name := k.topic("a", 2)
	w := k.writer(wire.WriterConfig{BatchBytes: 4 << 10, Compression: compression})
	a := k.appender(w, 1)
	o := k.out(a, name)
	for i := range n {
		o.Append(int32(i%2), k.now(), []byte{byte(i), byte(i >> 8)}, bytes.Repeat([]byte{byte(i)}, 20), nil)
		if i == n/2 {
			a.Cut(1)
		}
	}
	a.Cut(2)
	ends, err := w.Flush(k.ctx, 2)
	k.must(err)
	for partition := range int32(2) {
		if ends[at(name, partition)] != n/2 {
			k.Fatalf("ends are %v", ends)
		}
		r, err := k.log.Read(k.ctx, at(name, partition), 0, wire.ReadOptions{MaxBytes: 10_000})
		k.must(err)
		records, _ := k.take(r, n/2)
		k.must(r.Close())
		for i, g := range records {
			was := 2*i + int(partition)
			if g.offset != int64(i) || g.key != string([]byte{byte(was), byte(was >> 8)}) || g.value != string(bytes.Repeat([]byte{byte(was)}, 20)) {
				k.Fatalf("partition %d record %d is %+v", partition, i, g)
			}
		}
	}
}

// same compares bytes and tells null from empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
