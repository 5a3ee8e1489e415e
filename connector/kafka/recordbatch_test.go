package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

// packed is a batch with some of everything.
func packed(t testing.TB, how wire.Compression) ([]byte, []wire.Record) {
	t.Helper()
	want := []wire.Record{
		{Time: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v"), Headers: []wire.Header{{Key: "h", Value: []byte("1")}, {Key: "", Value: nil}}},
		{Offset: 1, Time: 1_600_000_000_000, Key: nil, Value: []byte{}},
		{Offset: 2, Time: 1_700_000_000_001, Key: bytes.Repeat([]byte("k"), 200), Value: nil},
		{Offset: 3, Time: 1_700_000_000_002, Key: []byte{}, Value: bytes.Repeat([]byte("value"), 5000)},
	}
	var p parcel
	for _, r := range want {
		p.put(r.Time, r.Key, r.Value, r.Headers)
	}
	if err := p.pack(how, new(codecs), producer{7, 3}, true); err != nil {
		t.Fatal(err)
	}
	return p.batch, want
}

func unpackOne(records []byte) (*wire.Batch, error) {
	w := wish{cursor: &cursor{how: wire.ReadOptions{Headers: true}}}
	b, _, err := new(dialer).unpack(w, &block{records: records})
	return b, err
}

func TestBatchesComeBackAsTheyWere(t *testing.T) {
	for how := wire.None; how <= wire.Zstd; how++ {
		raw, want := packed(t, how)
		b, err := unpackOne(raw)
		if err != nil || !reflect.DeepEqual(b.Records, want) || b.Next != 4 {
			t.Errorf("codec %d: %+v to %+v, %v", how, want, b, err)
		}
	}
}

// Another client reads what is written here as the same, whatever the fields are that weir itself does not look at.
func TestBatchesAreTheProtocols(t *testing.T) {
	raw, want := packed(t, wire.None)
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rb.Magic, rb.Attributes, rb.LastOffsetDelta, rb.FirstTimestamp, rb.MaxTimestamp, rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence, rb.NumRecords); got !=
		"2 16 3 1700000000000 1700000000002 7 3 0 4" {
		t.Errorf("head %s", got)
	}
	for i, rest := 0, rb.Records; len(rest) > 0; i++ {
		n, used := binary.Varint(rest)
		var r kmsg.Record
		if err := r.ReadFrom(rest[:used+int(n)]); err != nil {
			t.Fatal(err)
		}
		rest = rest[used+int(n):]
		if !bytes.Equal(r.Key, want[i].Key) || !bytes.Equal(r.Value, want[i].Value) || len(r.Headers) != len(want[i].Headers) ||
			rb.FirstTimestamp+r.TimestampDelta64 != want[i].Time || int64(r.OffsetDelta) != want[i].Offset {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

// A batch that is cut off is left for the next answer, one whose content was changed is refused by name, and nothing of what can come
// makes the reader panic or ask for memory that the bytes cannot fill.
func TestBatchesThatAreNotWhole(t *testing.T) {
	raw, _ := packed(t, wire.None)
	for n := range raw {
		if b, err := unpackOne(raw[:n]); b != nil || err != nil {
			t.Fatalf("%d bytes of %d: %+v, %v", n, len(raw), b, err)
		}
	}
	for i := batchSummed; i < len(raw); i++ {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x55
		if _, err := unpackOne(bad); !errors.Is(err, errChecksum) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		binary.BigEndian.PutUint32(bad[batchSumAt:], crc32.Checksum(bad[batchSummed:], castagnoli))
		_, _ = unpackOne(bad) // whatever it says
	}
	old := bytes.Clone(raw)
	old[batchFormatAt] = 1
	if _, err := unpackOne(old); !errors.Is(err, errOldFormat) {
		t.Errorf("format 1: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	for how := wire.None; how <= wire.Zstd; how++ {
		raw, _ := packed(f, how)
		f.Add(raw[batchSummed:])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		raw := make([]byte, batchSummed, batchSummed+len(content))
		raw = append(raw, content...)
		binary.BigEndian.PutUint32(raw[batchLengthAt:], uint32(len(raw)-batchLengthAt-4))
		raw[batchFormatAt] = 2
		binary.BigEndian.PutUint32(raw[batchSumAt:], crc32.Checksum(content, castagnoli))
		b, err := unpackOne(raw)
		if err == nil && b != nil && len(b.Records) > 0 && b.Next <= b.Records[len(b.Records)-1].Offset {
			t.Errorf("it ends at %d, before its last record %d", b.Next, b.Records[len(b.Records)-1].Offset)
		}
	})
}

// Answers that are cut short are refused, wherever they end.
func TestAnswersThatAreNotWhole(t *testing.T) {
	fetch := kmsg.NewPtrFetchResponse()
	fetch.Version = fetchVersion
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic = "t"
	part := kmsg.NewFetchResponseTopicPartition()
	part.HighWatermark, part.LastStableOffset = 9, 8
	aborted := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	aborted.ProducerID, aborted.FirstOffset = 5, 6
	part.AbortedTransactions = append(part.AbortedTransactions, aborted)
	part.RecordBatches = []byte("records")
	topic.Partitions = append(topic.Partitions, part)
	fetch.Topics = append(fetch.Topics, topic)
	raw := fetch.AppendTo(nil)
	wishes := []wish{{cursor: &cursor{at: wire.TopicPartition{Topic: "t"}}}}
	for n := range len(raw) + 1 {
		f := &fetched{blocks: make([]block, 1)}
		if err := f.parse(raw[:n], wishes); (err == nil) != (n == len(raw)) {
			t.Fatalf("%d bytes of %d: %v", n, len(raw), err)
		}
		if b := f.blocks[0]; n == len(raw) && (b.high != 9 || b.stable != 8 || string(b.records) != "records" || b.aborted[0] != abortedTx{5, 6}) {
			t.Errorf("%+v", b)
		}
	}

	produce := kmsg.NewPtrProduceResponse()
	produce.Version = produceVersion
	to := kmsg.NewProduceResponseTopic()
	to.Topic = "t"
	at := kmsg.NewProduceResponseTopicPartition()
	at.ErrorCode, at.BaseOffset, at.ErrorMessage = 87, 11, kmsg.StringPtr("no")
	to.Partitions = append(to.Partitions, at)
	produce.Topics = append(produce.Topics, to)
	produce.ThrottleMillis = 20
	raw = produce.AppendTo(nil)
	sh := shipment{parcels: []*parcel{{lane: &lane{at: wire.TopicPartition{Topic: "t"}}}}}
	for n := range len(raw) + 1 {
		list, _, err := sh.receipts(raw[:n])
		if (err == nil) != (n == len(raw)) {
			t.Fatalf("%d bytes of %d: %v", n, len(raw), err)
		}
		if n == len(raw) && (list[0] != receipt{known: true, err: 87, offset: 11, words: "no"}) {
			t.Errorf("%+v", list)
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	var p parcel
	for i := range 1000 {
		p.put(int64(1_700_000_000_000+i), []byte("key-000000"), make([]byte, 100), nil)
	}
	if err := p.pack(wire.None, new(codecs), producer{7, 3}, true); err != nil {
		b.Fatal(err)
	}
	d, w := new(dialer), wish{cursor: &cursor{}}
	b.ReportAllocs()
	for b.Loop() {
		got, _, err := d.unpack(w, &block{records: p.batch})
		if err != nil || len(got.Records) != 1000 {
			b.Fatal(err)
		}
		got.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/record")
}

func BenchmarkPut(b *testing.B) {
	var p parcel
	key, value := []byte("key-000000"), make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		p.empty()
		for i := range 1000 {
			p.put(int64(1_700_000_000_000+i), key, value, nil)
		}
		if err := p.pack(wire.None, nil, producer{7, 3}, true); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/record")
}

func TestVarintsAreThoseOfTheProtocol(t *testing.T) {
	for shift := range 64 {
		for _, v := range []int64{1<<shift - 1, 1 << shift, -1 << shift, -1<<shift - 1} {
			got := appendVarint([]byte{9}, v)
			if want := binary.AppendVarint([]byte{9}, v); !bytes.Equal(got, want) || varintSize(v) != len(want)-1 {
				t.Fatalf("%d: % x of size %d, want % x", v, got, varintSize(v), want)
			}
			if back, next := varint(got, 1); back != v || next != len(got) {
				t.Fatalf("%d came back as %d, %d bytes of %d", v, back, next, len(got))
			}
			if _, next := varint(got[:len(got)-1], 1); next != len(got) {
				t.Fatalf("%d without its end: %d", v, next)
			}
		}
	}
}
