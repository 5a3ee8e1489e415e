package kafkatest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirstream/weir/internal/faults"
)

// A behind is a broker behind a layer that plays a script, and a client of which requests are judged. It sends each request once.
type behind struct {
	*Broker
	l      *Layer
	client *kgo.Client
	topic  string
	pid    int64
	epoch  int16
}

func newBehind(t *testing.T, script string) *behind {
	t.Helper()
	s, err := faults.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	b := &behind{l: NewLayer("judged", s.Judge())}
	b.Broker = Start(t, Behind(b.l))
	b.NeedFake()
	b.topic = b.Topic("t", 1)
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.ClientID("judged"), kgo.RequestRetries(0), kgo.MaxVersions(kversion.V2_8_0()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

// ask sends one request to the only node.
func (b *behind) ask(q kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	return b.client.Broker(0).Request(ctx, q)
}

// begin opens a transaction with topic t in it.
func (b *behind) begin() {
	b.t.Helper()
	id := "tx"
	q := kmsg.NewPtrInitProducerIDRequest()
	q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = &id, 60_000, -1, -1
	resp, err := b.ask(q)
	if err != nil {
		b.t.Fatal(err)
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	b.pid, b.epoch = r.ProducerID, r.ProducerEpoch
	if _, err := b.ask(b.add()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *behind) add() *kmsg.AddPartitionsToTxnRequest {
	q := kmsg.NewPtrAddPartitionsToTxnRequest()
	q.TransactionalID, q.ProducerID, q.ProducerEpoch = "tx", b.pid, b.epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = b.topic, []int32{0}
	q.Topics = append(q.Topics, t)
	return q
}

func (b *behind) end() *kmsg.EndTxnRequest {
	q := kmsg.NewPtrEndTxnRequest()
	q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = "tx", b.pid, b.epoch, true
	return q
}

// metadata is a request that counts and changes nothing.
func (b *behind) metadata() {
	b.t.Helper()
	if _, err := b.ask(kmsg.NewPtrMetadataRequest()); err != nil {
		b.t.Fatal(err)
	}
}

func TestLayerLoses(t *testing.T) {
	for script, open := range map[string]bool{"endtxn 1 drop": true, "endtxn 1 lose": false, "endtxn 1 killdone": false, "endtxn 1 kill": true} {
		t.Run(script, func(t *testing.T) {
			b := newBehind(t, script)
			b.begin()
			if _, err := b.ask(b.end()); err == nil {
				t.Error("there is an answer")
			}
			if got := len(b.OpenTransactions("tx")) > 0; got != open {
				t.Errorf("the transaction is open: %v, want %v", got, open)
			}
			if !strings.Contains(script, "kill") {
				return
			}
			if id := <-b.l.Kills(); id != "judged" {
				t.Errorf("%q was killed", id)
			}
			if _, err := b.ask(b.end()); err == nil {
				t.Error("who was killed has an answer")
			}
		})
	}
}

func TestLayerIsLate(t *testing.T) {
	b := newBehind(t, "endtxn 1 after=2")
	b.begin()
	if _, err := b.ask(b.end()); err == nil {
		t.Error("there is an answer")
	}
	b.metadata()
	if len(b.OpenTransactions("tx")) == 0 {
		t.Error("the request came too early")
	}
	b.metadata()
	if len(b.OpenTransactions("tx")) > 0 {
		t.Error("the request did not come")
	}
}

// A commit is answered, and its markers are not there: the id cannot be used, and readers see nothing.
func TestLayerHoldsMarkers(t *testing.T) {
	b := newBehind(t, "marker 1 after=3")
	b.begin()
	resp, err := b.ask(b.end())
	if err != nil || resp.(*kmsg.EndTxnResponse).ErrorCode != 0 {
		t.Fatalf("commit: %v, %v", resp, err)
	}
	resp, err = b.ask(b.add())
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode; code != kerr.ConcurrentTransactions.Code {
		t.Errorf("the next transaction may begin: %v", kerr.ErrorForCode(code))
	}
	b.metadata()
	if len(b.OpenTransactions("tx")) == 0 {
		t.Error("the markers are there")
	}
	b.metadata()
	if len(b.OpenTransactions("tx")) > 0 || b.l.Err() != nil {
		t.Errorf("the markers do not come: %v", b.l.Err())
	}
}

func TestLayerRefuses(t *testing.T) {
	b := newBehind(t, "")
	long := strings.Repeat("m", 4097)
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.Generation = "g", -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = b.topic
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Metadata = &long
	topic.Partitions = append(topic.Partitions, part)
	q.Topics = append(q.Topics, topic)
	resp, err := b.ask(q)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != kerr.OffsetMetadataTooLarge.Code {
		t.Errorf("metadata of 4,097 bytes: %v", kerr.ErrorForCode(code))
	}
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	ahead := &Record{Topic: b.topic, Timestamp: time.Now().Add(2 * time.Hour)}
	if err := b.client.ProduceSync(ctx, ahead).FirstErr(); !errors.Is(err, kerr.InvalidTimestamp) {
		t.Errorf("a time two hours ahead: %v", err)
	}
}

// Records of an aborted transaction are cleaned away, with its marker. What its producer commits afterwards is no part of it.
func TestLayerForgetsWhatWasCleaned(t *testing.T) {
	b := newBehind(t, "listoffsets 1 clean")
	topic := b.Name("compacted")
	b.CreateTopic(topic, 1, map[string]string{"cleanup.policy": "compact"})
	producer := func(value string) (*kgo.Client, context.Context) {
		ctx, cancel := context.WithTimeout(b.ctx, Patience)
		t.Cleanup(cancel)
		client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.ClientID("judged"), kgo.TransactionalID("tx"), kgo.MaxVersions(kversion.V2_8_0()), kgo.DisableClientMetrics())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		if err := errors.Join(client.BeginTransaction(), client.ProduceSync(ctx, &Record{Topic: topic, Key: []byte("k"), Value: []byte(value)}).FirstErr()); err != nil {
			t.Fatal(err)
		}
		return client, ctx
	}
	b.Produce(topic, KV("k", "1"))
	producer("lost")
	q := kmsg.NewPtrInitProducerIDRequest() // its successor takes over
	id := "tx"
	q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = &id, 60_000, -1, -1
	if _, err := b.ask(q); err != nil {
		t.Fatal(err)
	}
	b.Produce(topic, KV("j", "1"))
	if _, err := b.ask(kmsg.NewPtrListOffsetsRequest()); err != nil {
		t.Fatal(err)
	}
	if all := b.ReadAll(topic); len(all) != 2 {
		t.Fatalf("it is not cleaned: %d records", len(all))
	}
	client, ctx := producer("2")
	if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, r := range b.ReadCommitted(topic) {
		values = append(values, string(r.Key)+"="+string(r.Value))
	}
	if want := []string{"k=1", "j=1", "k=2"}; !slices.Equal(values, want) {
		t.Errorf("read %v, want %v", values, want)
	}
}
