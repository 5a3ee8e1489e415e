package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

func (r *rig) writer(how wire.WriterConfig) *writer {
	r.Helper()
	w, err := r.log.Writer(r.ctx, how)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { w.Close() })
	return w.(*writer)
}

func (r *rig) appender(w wire.Writer, task string, next uint64) wire.Appender {
	r.Helper()
	a, err := w.Appender(task, next)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

func (r *rig) to(a wire.Appender, topic string) wire.Out {
	r.Helper()
	o, err := a.To(r.ctx, topic)
	if err != nil {
		r.Fatal(err)
	}
	return o
}

func (r *rig) flush(w wire.Writer, n uint64) map[wire.TopicPartition]int64 {
	r.Helper()
	ends, err := w.Flush(r.ctx, n)
	if err != nil {
		r.Fatal(err)
	}
	return ends
}

// consume reads a whole partition with the other client, as committed readers see it.
func (r *rig) consume(topic string, partition int32, n int) []*kgo.Record {
	r.Helper()
	c := client(r.TB, r.brokers, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	var out []*kgo.Record
	for len(out) < n {
		f := c.PollFetches(r.ctx)
		if err := f.Err(); err != nil {
			r.Fatalf("after %d of %d records: %v", len(out), n, err)
		}
		out = append(out, f.Records()...)
	}
	return out
}

func TestWriteIsReadByAnotherClient(t *testing.T) {
	for _, codec := range []wire.Compression{wire.None, wire.Gzip, wire.Snappy, wire.LZ4, wire.Zstd} {
		t.Run(fmt.Sprint(codec), func(t *testing.T) {
			r := newRig(t)
			topic := r.topic(2, "retention.ms", "-1") // the times are of 2013
			w := r.writer(wire.WriterConfig{Compression: codec, BatchBytes: 4 << 10})
			a := r.appender(w, "t", 1)
			to := r.to(a, topic)
			if to.Partitions() != 2 {
				t.Fatalf("%d partitions", to.Partitions())
			}
			const n = 500
			at := int64(1_357_034_400_123)
			for i := range n {
				to.Append(1, at-int64(i%5), fmt.Appendf(nil, "k%d", i), bytes.Repeat([]byte{byte(i)}, i), []wire.Header{{Key: "h", Value: []byte("x")}, {Key: "h"}})
			}
			to.Append(1, 0, nil, nil, nil)
			to.Append(1, 1, []byte{}, []byte{}, nil)
			a.Cut(1)
			if ends := r.flush(w, 1); len(ends) != 1 || ends[wire.TopicPartition{Topic: topic, Partition: 1}] != n+2 {
				t.Fatalf("ends %v", ends)
			}
			for i, got := range r.consume(topic, 1, n+2) {
				switch i {
				case n:
					if got.Key != nil || got.Value != nil || got.Timestamp.UnixMilli() != 0 {
						t.Fatalf("nulls became %v", got)
					}
				case n + 1:
					if got.Key == nil || got.Value == nil {
						t.Fatalf("empty became null: %v", got)
					}
				default:
					if string(got.Key) != fmt.Sprintf("k%d", i) || len(got.Value) != i || got.Timestamp.UnixMilli() != at-int64(i%5) ||
						len(got.Headers) != 2 || got.Headers[0].Key != "h" || string(got.Headers[0].Value) != "x" || got.Headers[1].Value != nil {
						t.Fatalf("record %d: %v %v", i, got, got.Headers)
					}
				}
			}
		})
	}
}

// Whatever is answered, or not: each record once and in order.
func TestWriteRetriesInOrder(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3))
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(4)
	tries := 0
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		switch tries++; tries % 5 {
		case 1:
			return nil, errors.New("cut before"), true
		case 3:
			return refuseProduce(req.(*kmsg.ProduceRequest), 6), nil, true
		case 4:
			_ = c.MoveTopicPartition(topic, int32(tries)%4, int32(tries)%3)
		}
		return nil, nil, false
	})
	w := r.writer(wire.WriterConfig{BatchBytes: 200})
	a := r.appender(w, "t", 1)
	to := r.to(a, topic)
	const n = 400
	for i := range n {
		to.Append(int32(i%4), now(), nil, fmt.Append(nil, i), nil)
	}
	a.Cut(1)
	r.flush(w, 1)
	for p := range int32(4) {
		for i, got := range r.consume(topic, p, n/4) {
			if want := fmt.Sprint(i*4 + int(p)); string(got.Value) != want {
				t.Fatalf("partition %d, record %d: got %s, want %s", p, i, got.Value, want)
			}
		}
		if end := r.end(topic, p); end != n/4 {
			t.Errorf("partition %d ends at %d: something was written twice", p, end)
		}
	}
	if tries < 10 {
		t.Errorf("only %d tries", tries)
	}
}

func refuseProduce(req *kmsg.ProduceRequest, code int16) kmsg.Response {
	answer := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		at := kmsg.NewProduceResponseTopic()
		at.Topic, at.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			ap := kmsg.NewProduceResponseTopicPartition()
			ap.Partition, ap.ErrorCode = p.Partition, code
			at.Partitions = append(at.Partitions, ap)
		}
		answer.Topics = append(answer.Topics, at)
	}
	return answer
}

func (r *rig) end(topic string, partition int32) int64 {
	r.Helper()
	at := wire.TopicPartition{Topic: topic, Partition: partition}
	ends, err := r.log.List(r.ctx, wire.End, []wire.TopicPartition{at})
	if err != nil {
		r.Fatal(err)
	}
	return ends[at]
}

func TestFlushWaitsForEveryAppender(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	w := r.writer(wire.WriterConfig{})
	a, b := r.appender(w, "a", 1), r.appender(w, "b", 1)
	toA, toB := r.to(a, topic), r.to(b, topic)
	toA.Append(0, now(), nil, []byte("a"), nil)
	toB.Append(0, now(), nil, []byte("b"), nil)
	a.Cut(1)
	short, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := w.Flush(short, 1)
		done <- err
	}()
	toA.Append(0, now(), nil, []byte("a2"), nil) // of checkpoint 2
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Flush returned before b cut: %v", err)
	}
	toB.Append(0, now(), nil, []byte("b1"), nil)
	b.Cut(1)
	at := wire.TopicPartition{Topic: topic}
	if ends := r.flush(w, 1); ends[at] < 3 {
		t.Errorf("ends %v", ends)
	}
	b.Close()
	a.Cut(2)
	r.flush(w, 2)
	var values []string
	for _, rec := range r.consume(topic, 0, 4) {
		values = append(values, string(rec.Value))
	}
	if slices.Index(values, "a") > slices.Index(values, "a2") || slices.Index(values, "b") > slices.Index(values, "b1") {
		t.Errorf("order %q", values)
	}
}

func TestFullAndDrained(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	w := r.writer(wire.WriterConfig{BufferedBytes: 64 << 10, BatchBytes: 8 << 10})
	a := r.appender(w, "a", 1)
	to := r.to(a, topic)
	for i := 0; !w.Full(); i++ {
		if i > 10_000 {
			t.Fatal("never full")
		}
		to.Append(0, now(), nil, make([]byte, 1000), nil)
	}
	a.Cut(1)
	select {
	case <-w.Drained():
	case <-r.ctx.Done():
		t.Fatal("never drained")
	}
	if w.Full() {
		t.Error("full after it has drained")
	}
	r.flush(w, 1)
}

func TestWriteToAMissingTopic(t *testing.T) {
	r := newRig(t)
	a := r.appender(r.writer(wire.WriterConfig{}), "a", 1)
	if _, err := a.To(r.ctx, "no-such-topic"); !errors.Is(err, wire.ErrNoTopic) {
		t.Error(err)
	}
}

// What the broker refuses for good ends the writer, with words that say what it was.
func TestWriterFailsWhenRefused(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1, "max.message.bytes", "1000")
	w := r.writer(wire.WriterConfig{})
	a := r.appender(w, "a", 1)
	to := r.to(a, topic)
	if to.MaxBytes() >= 1000 || to.MaxBytes() < 800 {
		t.Errorf("MaxBytes %d of a topic that takes 1000", to.MaxBytes())
	}
	to.Append(0, now(), nil, make([]byte, to.MaxBytes()), nil)
	a.Cut(1)
	r.flush(w, 1)
	to.Append(0, now(), nil, make([]byte, 2000), nil)
	a.Cut(2)
	if _, err := w.Flush(r.ctx, 2); err == nil {
		t.Fatal("no error for a record that is too large")
	}
	<-w.Failed()
	if w.Err() == nil || !bytes.Contains([]byte(w.Err().Error()), []byte(topic)) {
		t.Errorf("Err: %v", w.Err())
	}
	to.Append(0, now(), nil, nil, nil) // dropped
}

func now() int64 { return time.Now().UnixMilli() }
