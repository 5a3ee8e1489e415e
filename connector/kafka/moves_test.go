package kafka

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// Leaders move while a partition is read, and the reader follows.
func TestReadFollowsTheLeader(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3))
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(2)
	rd := r.read(topic, 0, 0, wire.ReadOptions{})
	for i := range 9 {
		if err := c.MoveTopicPartition(topic, 0, int32(i%3)); err != nil {
			t.Fatal(err)
		}
		r.produce(&kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
		if got := r.values(rd, int64(i+1)); !slices.Equal(got, []string{fmt.Sprint(i)}) {
			t.Fatalf("record %d: %q", i, got)
		}
	}
}

// Transactions over several brokers whose partitions move between checkpoints: everything once, in order.
func TestTransactionsSurviveMoves(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3))
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(3)
	a := r.appender(r.tx, "t", 1)
	to := r.to(a, topic)
	const checkpoints, each = 10, 30
	for n := uint64(1); n <= checkpoints; n++ {
		for i := range each {
			to.Append(int32(i%3), now(), nil, fmt.Append(nil, int(n-1)*each+i), nil)
		}
		_ = c.MoveTopicPartition(topic, int32(n)%3, int32(n/3)%3)
		a.Cut(n)
		r.flush(r.tx, n)
		if err := r.tx.Commit(r.ctx, n, r.who, r.at(topic, int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	for p := range 3 {
		var want []string
		for i := p; i < checkpoints*each; i += 3 {
			want = append(want, fmt.Sprint(i))
		}
		var got []string
		for _, rec := range r.consume(topic, int32(p), len(want)) {
			got = append(got, string(rec.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("partition %d: %d records, want %d in order", p, len(got), len(want))
		}
	}
}

// A broker that throttles answers with nothing and a time to wait: nothing is skipped.
func TestThrottledReadsGoOn(t *testing.T) {
	c := fake(t)
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v")})
	throttled := 0
	c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if throttled++; throttled > 3 {
			return nil, nil, false
		}
		answer := q.ResponseKind().(*kmsg.FetchResponse)
		answer.ThrottleMillis = 10
		return answer, nil, true
	})
	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{}), 1); !slices.Equal(got, []string{"v"}) {
		t.Errorf("%q", got)
	}
}

// A batch that is kept does not keep the answer that it came in, of which it was a small part.
func TestSmallSharesDoNotKeepTheAnswer(t *testing.T) {
	r := newRig(t)
	topic := r.topic(2)
	big := client(t, r.brokers, kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err := big.ProduceSync(r.ctx, &kgo.Record{Topic: topic, Value: make([]byte, 900_000)}, &kgo.Record{Topic: topic, Partition: 1, Key: []byte("k"), Value: []byte("small")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var found []unpacked
	conn, err := r.log.dialer.openPipe(r.ctx, r.brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.drop()
	var wishes []wish
	for p := range int32(2) {
		wishes = append(wishes, wish{&cursor{at: wire.TopicPartition{Topic: topic, Partition: p}}, 0, 2 << 20})
	}
	answer, err := conn.fetch(r.ctx, &r.log.buffers, wishes, 0)
	if err != nil {
		t.Fatal(err)
	}
	found = r.log.unpackAll(wishes, answer)
	if found[0].batch == nil || found[1].batch == nil {
		t.Skip("the broker answered for one partition only")
	}
	freed := make(chan struct{})
	runtime.AddCleanup(&found[0].batch.Records[0].Value[0], func(struct{}) { close(freed) }, struct{}{})
	small := found[1].batch.Records[0]
	found, answer = nil, nil
	for {
		runtime.GC()
		select {
		case <-freed:
			if string(small.Key) != "k" || string(small.Value) != "small" {
				t.Errorf("%+v", small)
			}
			return
		case <-r.ctx.Done():
			t.Fatal("the answer is still there")
		default:
			runtime.Gosched()
		}
	}
}

// A node of a real cluster is killed and comes back while checkpoints are committed and read. Where the writer gives up, what it does
// next is all that recovery is: open anew, read what is committed, go on from there. Each record appears once and in order.
func TestNodeIsKilled(t *testing.T) {
	kafkatest.NeedReal(t)
	b := kafkatest.Start(t, kafkatest.Nodes(3))
	r := newTxRig(t, b.Brokers()...)
	topic := r.topic(3)
	const checkpoints, each = 40, 30
	readers := make([]wire.Reader, 3)
	for p := range readers {
		readers[p] = r.read(topic, int32(p), 0, wire.ReadOptions{Committed: true})
	}
	killed, back := false, false
	for n := uint64(1); n <= checkpoints; {
		a := r.appender(r.tx, "t", n)
		for ; n <= checkpoints; n++ {
			if n == 10 && !killed {
				killed = true
				b.KillNode(1)
			}
			if n == 25 && !back {
				back = true
				b.StartNode(1)
			}
			if err := r.checkpoint(a, topic, n, each); err != nil {
				t.Logf("checkpoint %d: %v", n, err)
				r.tx.Close()
				r.tx = r.open()
				n = uint64(max(r.group(topic), 0)) + 1
				break
			}
		}
	}
	for p, rd := range readers {
		for want := p; want < checkpoints*each; {
			batch, err := rd.Next(r.ctx)
			if err != nil {
				t.Fatalf("partition %d, before %d: %v", p, want, err)
			}
			for _, rec := range batch.Records {
				if string(rec.Value) != fmt.Sprint(want) {
					t.Fatalf("partition %d: %s, want %d", p, rec.Value, want)
				}
				want += 3
			}
			batch.Release()
		}
	}
}

// checkpoint writes records that follow from n alone, and commits n as the group's position.
func (r *txRig) checkpoint(a wire.Appender, topic string, n uint64, each int) error {
	to, err := a.To(r.ctx, topic)
	if err != nil {
		return err
	}
	for i := range each {
		to.Append(int32(i%3), now(), nil, fmt.Append(nil, int(n-1)*each+i), nil)
	}
	a.Cut(n)
	if _, err := r.tx.Flush(r.ctx, n); err != nil {
		return err
	}
	return r.tx.Commit(r.ctx, n, r.who, r.at(topic, int64(n)))
}
