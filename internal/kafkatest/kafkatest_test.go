package kafkatest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func TestProduceAndRead(t *testing.T) {
	b := Start(t)
	topic := b.Topic("in", 3)
	for i := range 100 {
		b.Produce(topic, KV(fmt.Sprint("key", i%7), fmt.Sprint("value", i)))
	}
	b.ProduceTo(topic, 2, KV("placed", "by hand"), &Record{Key: []byte("deleted")})

	all := b.ReadCommitted(topic)
	if len(all) != 102 {
		t.Fatalf("read %d records, want 102", len(all))
	}
	home := make(map[string]int32)
	for _, r := range all[:len(all)-2] {
		if p, seen := home[string(r.Key)]; seen && p != r.Partition {
			t.Fatalf("key %s is in partitions %d and %d", r.Key, p, r.Partition)
		}
		home[string(r.Key)] = r.Partition
	}
	last := all[len(all)-2:]
	if last[0].Partition != 2 || string(last[0].Value) != "by hand" || last[1].Value != nil {
		t.Fatalf("the last two are %v and %v", last[0], last[1])
	}
	total := int64(0)
	for _, end := range b.EndOffsets(topic) {
		total += end
	}
	if total != 102 {
		t.Fatalf("end offsets sum up to %d", total)
	}
}

// The murmur2 hashes of these keys are in Kafka's own tests: -973932308, -790332482 and 479470107.
func TestKeysPickJavaPartitions(t *testing.T) {
	b := Start(t)
	topic := b.Topic("in", 4)
	want := map[string]int32{"21": 0, "foobar": 2, "abc": 3}
	for key := range want {
		b.Produce(topic, KV(key, ""))
	}
	for _, r := range b.ReadCommitted(topic) {
		if r.Partition != want[string(r.Key)] {
			t.Errorf("key %s is in partition %d, Java puts it into %d", r.Key, r.Partition, want[string(r.Key)])
		}
	}
}

func TestTransactions(t *testing.T) {
	b := Start(t)
	topic, id := b.Topic("out", 1), b.Name("tx")
	b.Produce(topic, KV("a", "plain"))

	tx := b.transactional(id)
	begin(t, tx, topic, "aborted")
	end(t, tx, kgo.TryAbort)
	begin(t, tx, topic, "committed")
	end(t, tx, kgo.TryCommit)
	b.AwaitCount(topic, 2) // the answer to EndTxn comes before the markers
	if got := values(b.ReadCommitted(topic)); got != "plain committed" {
		t.Fatalf("read committed: %s", got)
	}
	b.Eventually("the transactions' end", func() bool { return len(b.OpenTransactions(id)) == 0 })

	begin(t, tx, topic, "open")
	if open := b.OpenTransactions(id); !slices.Equal(open, []string{id}) {
		t.Fatalf("open transactions: %v, want %s", open, id)
	}
	if got := values(b.ReadCommitted(topic)); got != "plain committed" {
		t.Fatalf("read committed beside an open transaction: %s", got)
	}
	if got := values(b.ReadAll(topic)); got != "plain aborted committed open" {
		t.Fatalf("read all: %s", got)
	}
	if stable, end := b.StableOffsets(topic)[0], b.EndOffsets(topic)[0]; stable != end-1 {
		t.Fatalf("stable offset %d, end %d: want one record between", stable, end)
	}
	end(t, tx, kgo.TryCommit)
	b.AwaitCount(topic, 3)
}

func TestDeleteRecords(t *testing.T) {
	b := Start(t)
	topic := b.Topic("in", 1)
	b.Produce(topic, KV("a", "1"), KV("a", "2"), KV("a", "3"))
	b.DeleteRecords(topic, 0, 2)
	if got := values(b.ReadCommitted(topic)); got != "3" {
		t.Fatalf("left after deletion: %s", got)
	}
	if start := b.StartOffsets(topic)[0]; start != 2 {
		t.Fatalf("start offset %d, want 2", start)
	}
}

func TestGroups(t *testing.T) {
	b := Start(t)
	topic, group := b.Topic("in", 2), b.Name("group")
	b.ProduceTo(topic, 1, KV("a", "1"))
	member, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group),
		kgo.InstanceID("one"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	ctx, cancel := b.within()
	defer cancel()
	if fetched := member.PollFetches(ctx); fetched.NumRecords() != 1 {
		t.Fatalf("the member polled %d records: %v", fetched.NumRecords(), fetched.Errors())
	}
	if got := b.Members(group); !slices.Equal(got, []string{"one"}) {
		t.Fatalf("members: %v", got)
	}
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.GroupOffsets(group)[topic][1]; got.Offset != 1 {
		t.Fatalf("committed %+v, want offset 1", got)
	}
	if dump := b.DumpGroup(group); !strings.Contains(dump, "instance one") || !strings.Contains(dump, topic+"/1 at 1") {
		t.Fatalf("dump:\n%s", dump)
	}
}

// A topic's last records may be compacted away: reading must end all the same.
func TestReadEndsBehindCompaction(t *testing.T) {
	b := Start(t)
	topic, id := b.Name("log"), b.Name("tx")
	b.CreateTopic(topic, 1, map[string]string{"cleanup.policy": "compact"})
	tx := b.transactional(id)
	begin(t, tx, topic, "kept")
	end(t, tx, kgo.TryCommit)
	begin(t, tx, topic, "aborted")
	end(t, tx, kgo.TryAbort)
	b.Eventually("markers", func() bool { return b.StableOffsets(topic)[0] == b.EndOffsets(topic)[0] })
	if b.Fake() != nil {
		b.Fake().Compact()
	}
	if got := values(b.ReadCommitted(topic)); got != "kept" {
		t.Fatalf("read committed: %s", got)
	}
}

func TestDoors(t *testing.T) {
	for _, door := range []Door{SASL, TLS, SASLTLS} {
		t.Run(door.variable(), func(t *testing.T) {
			b := Start(t, Through(door))
			topic := b.Topic("in", 1)
			b.Produce(topic, KV("a", "1"))
			if door.sasl() {
				pingByScram(t, b)
			}
			if got := values(b.ReadCommitted(topic)); got != "1" {
				t.Fatalf("read %s", got)
			}
		})
	}
}

// pingByScram shows that the credentials work by SCRAM too, and that wrong ones do not.
func pingByScram(t *testing.T, b *Broker) {
	t.Helper()
	for password, welcome := range map[string]bool{Password: true, "wrong": false} {
		opts := []kgo.Opt{kgo.SeedBrokers(b.Brokers()...), kgo.RequestRetries(0),
			kgo.SASL(scram.Auth{User: User, Pass: password}.AsSha256Mechanism())}
		if b.TLS() != nil {
			opts = append(opts, kgo.DialTLSConfig(b.TLS()))
		}
		client, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
		cancel()
		client.Close()
		if (err == nil) != welcome {
			t.Fatalf("SCRAM with password %q: %v", password, err)
		}
	}
}

func TestNodesCanBeKilled(t *testing.T) {
	NeedReal(t)
	b := Start(t, Nodes(3))
	topic := b.Topic("in", 1)
	b.Produce(topic, KV("a", "before"))
	leader := b.Leader(topic, 0)
	b.KillNode(int(leader))
	b.Produce(topic, KV("a", "after"))
	if now := b.Leader(topic, 0); now == leader {
		t.Fatalf("node %d still leads", now)
	}
	b.StartNode(int(leader))
	if got := values(b.ReadCommitted(topic)); got != "before after" {
		t.Fatalf("read %s", got)
	}
}

func TestPropertiesReachTheBroker(t *testing.T) {
	NeedReal(t)
	b := Start(t, Property("message.max.bytes", "2222"))
	configs, err := b.admin.DescribeBrokerConfigs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "message.max.bytes" && c.MaybeValue() == "2222" {
			return
		}
	}
	t.Fatal("the broker runs without the property")
}

func (b *Broker) transactional(id string) *kgo.Client {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.TransactionalID(id), kgo.RecordPartitioner(placed{}))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(client.Close)
	return client
}

func begin(t *testing.T, tx *kgo.Client, topic, value string) {
	t.Helper()
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	r := KV("k", value)
	r.Topic = topic
	if err := tx.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, tx *kgo.Client, how kgo.TransactionEndTry) {
	t.Helper()
	if err := tx.EndTransaction(t.Context(), how); err != nil {
		t.Fatal(err)
	}
}

func values(records []*Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return strings.Join(all, " ")
}
