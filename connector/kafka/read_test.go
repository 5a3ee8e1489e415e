package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

// read opens a partition from an offset.
func (r *rig) read(topic string, partition int32, from int64, how wire.ReadOptions) wire.Reader {
	r.Helper()
	rd, err := r.log.Read(r.ctx, wire.TopicPartition{Topic: topic, Partition: partition}, from, how)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { rd.Close() })
	return rd
}

// values reads until the reader stands at an offset, and gives what it saw as strings.
func (r *rig) values(rd wire.Reader, until int64) (values []string) {
	r.Helper()
	for {
		b, err := rd.Next(r.ctx)
		if err != nil {
			r.Fatalf("after %d values: %v", len(values), err)
		}
		for _, rec := range b.Records {
			values = append(values, string(rec.Value))
		}
		next := b.Next
		b.Release()
		if next >= until {
			return values
		}
	}
}

func TestReadDecodesWhatAnotherClientWrote(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		t.Run(fmt.Sprint(codec), func(t *testing.T) {
			r := newRig(t)
			topic := r.topic(1, "retention.ms", "-1") // the times are of 2013
			other := client(t, r.brokers, kgo.ProducerBatchCompression(codec))
			at := time.UnixMilli(1_357_034_400_123) // of 2013
			var sent []*kgo.Record
			for i := range 300 {
				sent = append(sent, &kgo.Record{
					Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte{byte(i)}, i), Timestamp: at.Add(time.Duration(i%7) * time.Millisecond),
					Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}},
				})
			}
			sent = append(sent, &kgo.Record{Topic: topic, Timestamp: at}, &kgo.Record{Topic: topic, Key: []byte{}, Value: []byte{}, Timestamp: at})
			if err := other.ProduceSync(r.ctx, sent...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			rd := r.read(topic, 0, 0, wire.ReadOptions{Headers: true})
			i := 0
			for i < len(sent) {
				b, err := rd.Next(r.ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, got := range b.Records {
					want := sent[i]
					if got.Offset != int64(i) || got.Time != want.Timestamp.UnixMilli() || !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) ||
						(got.Key == nil) != (want.Key == nil) || (got.Value == nil) != (want.Value == nil) || len(got.Headers) != len(want.Headers) {
						t.Fatalf("record %d: got %v, want %v", i, got, want)
					}
					if len(got.Headers) == 2 && (got.Headers[0].Key != "h" || string(got.Headers[0].Value) != "1" || got.Headers[1].Value != nil) {
						t.Fatalf("record %d: headers %v", i, got.Headers)
					}
					i++
				}
				b.Release()
			}
		})
	}
}

func TestReadLeavesHeadersOutUnlessWanted(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h"}}})
	b, err := r.read(topic, 0, 0, wire.ReadOptions{}).Next(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Records) != 1 || b.Records[0].Headers != nil {
		t.Errorf("records %v: want one without headers", b.Records)
	}
}

func TestReadFromTheMiddleOfABatch(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	var records []*kgo.Record
	for i := range 100 {
		records = append(records, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
	r.produce(records...)
	got := r.values(r.read(topic, 0, 42, wire.ReadOptions{}), 100)
	if len(got) != 58 || got[0] != "42" || got[57] != "99" {
		t.Errorf("%d values from %q to %q", len(got), got[0], got[len(got)-1])
	}
}

// Aborted records and markers are behind the position, never in a batch.
func TestReadCommittedLeavesAbortedOut(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	tx := client(t, r.brokers, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	write := func(commit kgo.TransactionEndTry, values ...string) {
		t.Helper()
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := tx.ProduceSync(r.ctx, &kgo.Record{Value: []byte(v)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.EndTransaction(r.ctx, commit); err != nil {
			t.Fatal(err)
		}
	}
	write(kgo.TryAbort, "a1", "a2")                              // 0 1, marker 2
	write(kgo.TryCommit, "b1")                                   // 3, marker 4
	r.produce(&kgo.Record{Topic: topic, Value: []byte("plain")}) // 5
	write(kgo.TryAbort, "c1")                                    // 6, marker 7
	write(kgo.TryCommit, "d1")                                   // 8, marker 9
	write(kgo.TryAbort, "e1")                                    // 10, marker 11

	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{Committed: true}), 12); !slices.Equal(got, []string{"b1", "plain", "d1"}) {
		t.Errorf("committed: %q", got)
	}
	if got := r.values(r.read(topic, 0, 1, wire.ReadOptions{Committed: true}), 12); !slices.Equal(got, []string{"b1", "plain", "d1"}) {
		t.Errorf("committed, from within an aborted transaction: %q", got)
	}
	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{}), 12); len(got) != 7 {
		t.Errorf("uncommitted: %q, want all 7", got)
	}
}

// An open transaction holds a committed reader back, and both ends are news.
func TestReadReportsTheStableOffset(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("plain")})
	tx := client(t, r.brokers, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := tx.ProduceSync(r.ctx, &kgo.Record{Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	rd := r.read(topic, 0, 0, wire.ReadOptions{Committed: true})
	b, err := rd.Next(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Records) != 1 || b.Next != 1 || b.High != 2 || b.Stable != 1 {
		t.Fatalf("with the transaction open: %d records, next %d, high %d, stable %d", len(b.Records), b.Next, b.High, b.Stable)
	}
	if err := tx.EndTransaction(r.ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := r.values(rd, 3); !slices.Equal(got, []string{"open"}) {
		t.Errorf("after the commit: %q", got)
	}
}

func TestReadReportsALostOffset(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic}, &kgo.Record{Topic: topic})
	at := wire.TopicPartition{Topic: topic}
	if err := r.log.DeleteRecords(r.ctx, map[wire.TopicPartition]int64{at: 1}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 100} {
		_, err := next(r, r.read(topic, 0, from, wire.ReadOptions{}))
		if !errors.Is(err, wire.ErrOffsetGone) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if b, err := next(r, r.read(topic, 0, 1, wire.ReadOptions{})); err != nil || len(b.Records) != 1 {
		t.Errorf("from the first offset left: %v, %v", b, err)
	}
}

// next is the first batch with records.
func next(r *rig, rd wire.Reader) (*wire.Batch, error) {
	for {
		b, err := rd.Next(r.ctx)
		if err != nil || len(b.Records) > 0 {
			return b, err
		}
	}
}

func TestReadOfAMissingTopic(t *testing.T) {
	r := newRig(t)
	if _, err := r.log.Read(r.ctx, wire.TopicPartition{Topic: "no-such-topic"}, 0, wire.ReadOptions{}); !errors.Is(err, wire.ErrNoTopic) {
		t.Error(err)
	}
}

// A partition whose batches nobody releases is left out of fetches; the others go on.
func TestReadSlowPartitionHoldsNobodyUp(t *testing.T) {
	r := newRig(t)
	topic := r.topic(2)
	const n = 400
	other := client(t, r.brokers, kgo.ProducerBatchMaxBytes(8<<10), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(2) {
		for range n {
			other.Produce(r.ctx, &kgo.Record{Topic: topic, Partition: p, Value: make([]byte, 1000)}, nil)
		}
	}
	if err := other.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	slow := r.read(topic, 0, 0, wire.ReadOptions{MaxBytes: 64 << 10})
	quick := r.read(topic, 1, 0, wire.ReadOptions{MaxBytes: 64 << 10})
	if got := r.values(quick, n); len(got) != n {
		t.Fatalf("%d records of the quick partition", len(got))
	}
	c := slow.(*cursor)
	c.reads.mu.Lock()
	held := c.held
	c.reads.mu.Unlock()
	if held > 80<<10 {
		t.Errorf("the slow partition holds %d bytes, with a budget of 64 KiB and batches of 8", held)
	}
	if got := r.values(slow, n); len(got) != n {
		t.Errorf("%d records of the slow partition", len(got))
	}
}

// A batch that is larger than the partition's share still comes.
func TestReadLargeBatch(t *testing.T) {
	r := newRig(t)
	topic := r.topic(2, "max.message.bytes", "8000000")
	big := client(t, r.brokers, kgo.ProducerBatchMaxBytes(7<<20))
	for p := range int32(2) {
		if err := big.ProduceSync(r.ctx, &kgo.Record{Topic: topic, Partition: p, Value: make([]byte, 5<<20)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for p := range int32(2) {
		b, err := next(r, r.read(topic, p, 0, wire.ReadOptions{MaxBytes: 1 << 10}))
		if err != nil || len(b.Records[0].Value) != 5<<20 {
			t.Fatalf("partition %d: %v, %v", p, b, err)
		}
	}
}

// With a context that has ended Next polls.
func TestNextPolls(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	rd := r.read(topic, 0, 0, wire.ReadOptions{})
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	for {
		b, err := rd.Next(ended)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil || len(b.Records) > 0 {
			t.Fatal(b, err)
		}
	}
	b, err := rd.Next(r.ctx)
	if err != nil || b.High != 0 || b.Next != 0 {
		t.Fatal(b, err)
	}
}

// The broker forgets its connections: readers go on where they were.
func TestReadSurvivesLostConnections(t *testing.T) {
	c := fake(t)
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	failed := 0
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if failed++; failed%3 == 0 {
			return nil, errors.New("cut"), true
		}
		return nil, nil, false
	})
	rd := r.read(topic, 0, 0, wire.ReadOptions{})
	for i := range 10 {
		r.produce(&kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
		if got := r.values(rd, int64(i+1)); !slices.Equal(got, []string{fmt.Sprint(i)}) {
			t.Fatalf("record %d: %q", i, got)
		}
	}
}

// What the cleaner leaves of a batch whose records are all gone has no records. A reader must pass it.
func TestReadPassesEmptyBatches(t *testing.T) {
	d := &dialer{}
	var empty parcel
	empty.put(1, nil, []byte("gone"), nil)
	empty.data, empty.records = empty.data[:batchHead], 4
	if err := empty.pack(wire.None, &d.codecs, producer{1, 0}, false); err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint64(empty.batch, 3)      // the first offset
	binary.BigEndian.PutUint32(empty.batch[57:], 0) // no records
	binary.BigEndian.PutUint32(empty.batch[batchSumAt:], crc32.Checksum(empty.batch[batchSummed:], castagnoli))
	at := wish{cursor: &cursor{}, from: 3}
	b, _, err := d.unpack(at, &block{high: 7, stable: 7, records: empty.batch})
	if err != nil || b == nil || b.Next != 7 || len(b.Records) != 0 {
		t.Fatalf("%+v, %v: want an empty batch that ends at 7", b, err)
	}
	if b, _, err := d.unpack(at, &block{high: 7, stable: 7}); b != nil || err != nil {
		t.Fatalf("of an empty answer: %+v, %v", b, err)
	}
}

// A request asks for no more than an answer holds, and all partitions get their turn.
func TestRequestsAreBoundedAndFair(t *testing.T) {
	f := &fetcher{}
	for p := range int32(10) {
		f.cursors = append(f.cursors, &cursor{at: wire.TopicPartition{Topic: "t", Partition: p}, how: wire.ReadOptions{MaxBytes: 64 << 20}, share: answerBytes / 4, high: -1})
	}
	turns := make(map[*cursor]int)
	for range 5 {
		wanted, behind := f.wantedLocked()
		wishes := f.wishLocked(wanted, len(behind) > 0)
		if len(wishes) != 4 {
			t.Fatalf("%d partitions in a request", len(wishes))
		}
		for _, w := range wishes {
			turns[w.cursor]++
			w.fetching = false
		}
	}
	for _, c := range f.cursors {
		if turns[c] != 2 {
			t.Errorf("a partition had %d turns of 20 among 10", turns[c])
		}
	}
}
