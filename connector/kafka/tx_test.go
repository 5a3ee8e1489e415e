package kafka

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// The tests of this file are named after the rules of transactions: what is written in the design holds because one of them fails
// without it.

// A txRig is a rig with a member of a group and transactions.
type txRig struct {
	*rig
	tx  *transactions
	who wire.Identity
	ids [2]string
}

func newTxRig(t *testing.T, addrs ...string) *txRig {
	t.Helper()
	r := &txRig{rig: newRig(t, addrs...)}
	name := topicChars.ReplaceAllString(t.Name(), "-") + fmt.Sprint(time.Now().UnixNano())
	r.ids = [2]string{name + "-0", name + "-1"}
	r.who = r.member(name)
	r.tx = r.open()
	return r
}

// open takes the ids over, as a restarted process does.
func (r *txRig) open() *transactions { return r.openWith(wire.WriterConfig{}) }

func (r *txRig) openWith(c wire.WriterConfig) *transactions {
	r.Helper()
	tx, err := r.log.Transactions(r.ctx, wire.TxConfig{IDs: r.ids, Timeout: 30 * time.Second, WriterConfig: c})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { tx.Close() })
	return tx.(*transactions)
}

// member joins a group by hand and stays without a heartbeat: the test is over before anyone misses it.
func (r *rig) member(group string) wire.Identity {
	r.Helper()
	who := wire.Identity{Group: group}
	join := &sarama.JoinGroupRequest{Version: 5, GroupId: group, SessionTimeout: 60_000, RebalanceTimeout: 60_000, ProtocolType: "consumer"}
	if err := join.AddGroupProtocolMetadata("weir", &sarama.ConsumerGroupMemberMetadata{Topics: []string{"t"}}); err != nil {
		r.Fatal(err)
	}
	err := r.log.persist(r.ctx, func() error {
		return r.log.atGroup(r.ctx, group, func(b *sarama.Broker) error {
			for {
				answer, err := b.JoinGroup(join)
				if err != nil {
					return err
				}
				join.MemberId = answer.MemberId
				if answer.Err == sarama.ErrMemberIdRequired {
					continue
				}
				who.Member, who.Generation = answer.MemberId, answer.GenerationId
				if answer.Err != sarama.ErrNoError {
					return answer.Err
				}
				sync, err := b.SyncGroup(&sarama.SyncGroupRequest{Version: 3, GroupId: group, GenerationId: who.Generation, MemberId: who.Member})
				if err != nil {
					return err
				}
				return orNil(sync.Err)
			}
		})
	})
	if err != nil {
		r.Fatal(err)
	}
	return who
}

// write appends one value as checkpoint n and cuts it.
func (r *txRig) write(a wire.Appender, topic string, partition int32, n uint64, value string) {
	r.Helper()
	r.to(a, topic).Append(partition, time.Now().UnixMilli(), nil, []byte(value), nil)
	a.Cut(n)
}

func (r *txRig) at(topic string, offset int64) []wire.Position {
	return []wire.Position{{TopicPartition: wire.TopicPartition{Topic: topic}, Committed: wire.Committed{Offset: offset, Metadata: fmt.Sprint("m", offset)}}}
}

// visible is what a committed reader sees of a partition, up to its stable offset.
func (r *txRig) visible(topic string, partition int32) []string {
	r.Helper()
	at := wire.TopicPartition{Topic: topic, Partition: partition}
	stable, err := r.log.List(r.ctx, wire.Stable, []wire.TopicPartition{at})
	if err != nil {
		r.Fatal(err)
	}
	if stable[at] == 0 {
		return nil
	}
	return r.values(r.read(topic, partition, 0, wire.ReadOptions{Committed: true}), stable[at])
}

// awaitVisible waits for the markers, which are written after the answer.
func (r *txRig) awaitVisible(topic string, partition int32, want ...string) {
	r.Helper()
	wait := newBackoff()
	for {
		got := r.visible(topic, partition)
		if slices.Equal(got, want) {
			return
		}
		if len(got) > len(want) || !wait.sleep(r.ctx, time.Time{}) {
			r.Fatalf("partition %d: visible %q, want %q", partition, got, want)
		}
	}
}

func (r *txRig) group(topic string) int64 {
	r.Helper()
	at := wire.TopicPartition{Topic: topic}
	got, err := r.log.Committed(r.ctx, r.who.Group, []wire.TopicPartition{at})
	if err != nil {
		r.Fatal(err)
	}
	if c, ok := got[at]; ok {
		if c.Metadata != fmt.Sprint("m", c.Offset) {
			r.Errorf("metadata %q of offset %d", c.Metadata, c.Offset)
		}
		return c.Offset
	}
	return -1
}

func TestCommitMakesRecordsAndPositionsOneFact(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(2)
	a := r.appender(r.tx, "t", 1)
	now := time.Now().UnixMilli()
	for n := uint64(1); n <= 5; n++ {
		to := r.to(a, topic)
		to.Append(0, now, nil, fmt.Append(nil, n), nil)
		to.Append(1, now, nil, fmt.Append(nil, -int(n)), nil)
		a.Cut(n)
		ends := r.flush(r.tx, n)
		if len(ends) != 2 {
			t.Fatalf("ends %v", ends)
		}
		if !r.tx.Wrote(n) {
			t.Errorf("Wrote(%d) is false", n)
		}
		if err := r.tx.Commit(r.ctx, n, r.who, r.at(topic, int64(n))); err != nil {
			t.Fatal(err)
		}
		if got := r.group(topic); got != int64(n) {
			t.Errorf("after %d: the group is at %d", n, got)
		}
	}
	r.awaitVisible(topic, 0, "1", "2", "3", "4", "5")
	r.awaitVisible(topic, 1, "-1", "-2", "-3", "-4", "-5")
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "x")
	r.flush(r.tx, 1)
	if got := r.visible(topic, 0); len(got) != 0 {
		t.Errorf("visible: %q", got)
	}
	open, err := r.log.OpenTransactions(r.ctx, r.ids[0][:len(r.ids[0])-1])
	if err != nil || len(open) != 1 || open[0].ID != r.ids[1] || time.Since(open[0].Started) > time.Minute {
		t.Errorf("open transactions %v, %v", open, err)
	}
}

// Rule 1.1: each transaction has an epoch of its own, so a request of n that arrives late finds n+2 out of its reach.
func TestRule11OneEpochPerTransaction(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "one")
	r.flush(r.tx, 1)
	old := r.tx.session(1).producer
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); err != nil {
		t.Fatal(err)
	}
	a.Cut(2)
	if err := r.tx.Commit(r.ctx, 2, r.who, nil); err != nil {
		t.Fatal(err)
	}
	r.write(a, topic, 0, 3, "three")
	r.flush(r.tx, 3)
	now := r.tx.session(3).producer
	if now.id == old.id && now.epoch <= old.epoch {
		t.Fatalf("producer %v of checkpoint 3 follows %v of checkpoint 1", now, old)
	}
	late := kmsg.NewEndTxnRequest()
	late.TransactionalID, late.ProducerID, late.ProducerEpoch, late.Commit = r.ids[1], old.id, old.epoch, true
	if answer, err := late.RequestWith(r.ctx, r.other); err == nil && kerr.ErrorForCode(answer.ErrorCode) == nil {
		t.Error("the late EndTxn of checkpoint 1 was accepted")
	}
	moved := kmsg.NewTxnOffsetCommitRequest()
	moved.TransactionalID, moved.Group, moved.ProducerID, moved.ProducerEpoch = r.ids[1], r.who.Group, old.id, old.epoch
	moved.MemberID, moved.Generation = r.who.Member, r.who.Generation
	ot := kmsg.NewTxnOffsetCommitRequestTopic()
	ot.Topic = topic
	ot.Partitions = append(ot.Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Offset: 77})
	moved.Topics = append(moved.Topics, ot)
	_, _ = moved.RequestWith(r.ctx, r.other)
	r.awaitVisible(topic, 0, "one")
	if err := r.tx.Commit(r.ctx, 3, r.who, r.at(topic, 3)); err != nil {
		t.Fatal(err)
	}
	r.awaitVisible(topic, 0, "one", "three")
	if got := r.group(topic); got != 3 {
		t.Errorf("the group is at %d: the late commit moved it", got)
	}
}

// Rule 1.2: an abort is a new epoch, never EndTxn(abort).
func TestRule12AbortIsANewEpoch(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	seen := watch(c, kmsg.EndTxn)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "lost")
	r.flush(r.tx, 1)
	r.tx.Close()
	r.tx = r.open()
	a = r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "kept")
	r.flush(r.tx, 1)
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); err != nil {
		t.Fatal(err)
	}
	r.awaitVisible(topic, 0, "kept")
	for _, q := range seen() {
		if e := q.(*kmsg.EndTxnRequest); !e.Commit {
			t.Error("an EndTxn(abort) was sent")
		}
	}
}

// Rule 1.3: in a partition n+1 waits until n is acknowledged; in another it does not wait for the whole of n.
func TestRule13OrderBetweenTheIds(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(2)
	r.tx.Close()
	tx := r.openWith(wire.WriterConfig{BatchBytes: 200})
	var mu sync.Mutex
	held, early, other := 0, 0, false
	c.ControlKey(int16(kmsg.Produce), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := q.(*kmsg.ProduceRequest)
		mu.Lock()
		defer mu.Unlock()
		next := *req.TransactionID == r.ids[0] // of checkpoint 2
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				switch {
				case next && p.Partition == 0 && !other:
					early++
				case next && p.Partition == 1 && held > 0:
					other = true
				case next && p.Partition == 1:
					return refuseProduce(req, 6), nil, true // until partition 0 has something that holds it up
				case !next && !other:
					held++
					return refuseProduce(req, 6), nil, true
				}
			}
		}
		return nil, nil, false
	})
	a := r.appender(tx, "t", 1)
	to := r.to(a, topic)
	to.Append(0, now(), nil, []byte("first"), nil)
	a.Cut(1)
	want := []string{"first"}
	for i := range 20 { // several batches, each of which would like to leave
		to.Append(0, now(), nil, fmt.Appendf(nil, "%02d%s", i, make([]byte, 100)), nil)
		want = append(want, fmt.Sprintf("%02d%s", i, make([]byte, 100)))
	}
	to.Append(1, now(), nil, []byte("elsewhere"), nil)
	a.Cut(2)
	r.flush(tx, 2) // would hang if partition 1 waited for the whole of checkpoint 1
	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{}), 21); !slices.Equal(got, want) {
		t.Errorf("partition 0 has %q", got)
	}
	if held == 0 || early > 0 {
		t.Errorf("checkpoint 1 was held up %d times, and %d batches of checkpoint 2 did not wait for it", held, early)
	}
}

// Rule 1.3, too: a batch that is full takes those of earlier checkpoints in its partition along, though a slower task has not ended theirs.
func TestRule13EarlierCheckpointsLeaveFirst(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	r.tx.Close()
	tx, err := r.log.Transactions(r.ctx, wire.TxConfig{IDs: r.ids, Timeout: 30 * time.Second, WriterConfig: wire.WriterConfig{BatchBytes: 200, Linger: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	slow, fast := r.appender(tx, "slow", 1), r.appender(tx, "fast", 1)
	to := r.to(fast, topic)
	to.Append(0, now(), nil, []byte("first"), nil)
	fast.Cut(1) // slow is still in checkpoint 1
	want := []string{"first"}
	for i := range 20 {
		v := fmt.Sprintf("%02d%s", i, make([]byte, 100))
		to.Append(0, now(), nil, []byte(v), nil)
		want = append(want, v)
	}
	slow.Cut(1)
	fast.Cut(2)
	slow.Cut(2)
	r.flush(tx, 2)
	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{}), 21); !slices.Equal(got, want) {
		t.Errorf("the partition has %.300q", got)
	}
}

// Rule 1.4: while the outcome of n is not known to be a commit, n+1 sends the group nothing.
func TestRule14NothingBehindAnUnknownOutcome(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "one")
	r.write(a, topic, 0, 2, "two")
	r.flush(r.tx, 2)
	c.ControlKey(int16(kmsg.EndTxn), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.EndTxnResponse)
		answer.ErrorCode = kerr.InvalidTxnState.Code
		return answer, nil, true
	})
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); !errors.Is(err, wire.ErrUnknownOutcome) {
		t.Fatalf("checkpoint 1: %v", err)
	}
	<-r.tx.Failed()
	commits := watch(c, kmsg.TxnOffsetCommit, kmsg.OffsetCommit)
	if err := r.tx.Commit(r.ctx, 2, r.who, r.at(topic, 2)); err == nil {
		t.Error("checkpoint 2 was committed")
	}
	if n := len(commits()); n != 0 {
		t.Errorf("%d commits of positions were sent", n)
	}
}

// Rule 1.5: no transaction without a position, a member and a generation; one of another generation commits nothing, and the same
// transaction goes on with the right one.
func TestRule15AlwaysFencedByTheGroup(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "one")
	r.flush(r.tx, 1)
	stale := r.who
	stale.Generation += 5
	if err := r.tx.Commit(r.ctx, 1, stale, r.at(topic, 1)); !errors.Is(err, wire.ErrGeneration) {
		t.Fatalf("another generation: %v", err)
	}
	if got := r.visible(topic, 0); len(got) != 0 {
		t.Errorf("visible: %q", got)
	}
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); err != nil {
		t.Fatalf("the right generation, in the same transaction: %v", err)
	}
	r.awaitVisible(topic, 0, "one")
	for _, bad := range []struct {
		who wire.Identity
		at  []wire.Position
	}{{r.who, nil}, {wire.Identity{Group: r.who.Group, Member: r.who.Member, Generation: -1}, r.at(topic, 2)}, {wire.Identity{Group: r.who.Group}, r.at(topic, 2)}} {
		tx := r.open()
		r.write(r.appender(tx, "t", 1), topic, 0, 1, "never")
		if _, err := tx.Flush(r.ctx, 1); errors.Is(err, wire.ErrFenced) { // a broker's marker for the one before came late
			tx.Close()
			tx = r.open()
			r.write(r.appender(tx, "t", 1), topic, 0, 1, "never")
			r.flush(tx, 1)
		} else if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(r.ctx, 1, bad.who, bad.at); err == nil {
			t.Errorf("committed with %+v %v", bad.who, bad.at)
		}
		tx.Close()
	}
}

// Rule 1.6: the partitions that wait are added in one request.
func TestRule16PartitionsAreAddedTogether(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(200)
	added := watch(c, kmsg.AddPartitionsToTxn)
	a := r.appender(r.tx, "t", 1)
	to := r.to(a, topic)
	for p := range int32(200) {
		to.Append(p, 1, nil, []byte("x"), nil)
	}
	a.Cut(1)
	r.flush(r.tx, 1)
	if n := len(added()); n > 5 {
		t.Errorf("%d requests for 200 partitions", n)
	}
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); err != nil {
		t.Fatal(err)
	}
}

// Rule 1.7: with nothing written no transaction is opened; positions are committed plainly, also through a rebalance.
func TestRule17NothingIsOpenedForNothing(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	rebalancing := 1
	c.ControlKey(int16(kmsg.OffsetCommit), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if rebalancing == 0 {
			return nil, nil, false
		}
		rebalancing--
		answer := q.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range q.(*kmsg.OffsetCommitRequest).Topics {
			at := kmsg.NewOffsetCommitResponseTopic()
			at.Topic = t.Topic
			at.Partitions = append(at.Partitions, kmsg.OffsetCommitResponseTopicPartition{ErrorCode: kerr.RebalanceInProgress.Code})
			answer.Topics = append(answer.Topics, at)
		}
		return answer, nil, true
	})
	seen := watch(c, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn)
	a := r.appender(r.tx, "t", 1)
	a.Cut(1)
	r.flush(r.tx, 1)
	if r.tx.Wrote(1) {
		t.Error("Wrote(1) is true")
	}
	if err := r.tx.Commit(r.ctx, 1, r.who, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.tx.Commit(r.ctx, 2, r.who, r.at(topic, 9)); err != nil {
		t.Fatal(err)
	}
	if got := r.group(topic); got != 9 || rebalancing != 0 {
		t.Errorf("the group is at %d", got)
	}
	if n := len(seen()); n != 0 {
		t.Errorf("%d requests of transactions", n)
	}
}

// A plain commit whose answer is lost is sent again, and what was sent first may still come: that is remembered of the one who sent it, by itself and by way of a
// checkpoint that wrote nothing.
func TestPlainCommitWithoutAnAnswer(t *testing.T) {
	for name, commit := range map[string]func(r *txRig, topic string) error{
		"plain":      func(r *txRig, topic string) error { return r.log.CommitPlain(r.ctx, r.who, r.at(topic, 1)) },
		"checkpoint": func(r *txRig, topic string) error { return r.tx.Commit(r.ctx, 2, r.who, r.at(topic, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t)
			r := newTxRig(t, c.ListenAddrs()...)
			topic := r.topic(1)
			if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 0)); err != nil {
				t.Fatal(err)
			}
			if r.log.Unanswered(r.who) {
				t.Error("a commit that was answered is held to be unanswered")
			}
			lost := false
			c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if lost {
					return nil, nil, false
				}
				lost = true
				return nil, errors.New("cut"), true
			})
			if err := commit(r, topic); err != nil {
				t.Fatal(err)
			}
			later := r.who
			later.Generation++
			if now := r.group(topic); now != 1 || !r.log.Unanswered(r.who) || r.log.Unanswered(later) {
				t.Errorf("the group is at %d; unanswered: %v, and in the next generation %v", now, r.log.Unanswered(r.who), r.log.Unanswered(later))
			}
		})
	}
}

// An outcome whose answer is lost is asked for again, with the same id and epoch: committed once.
func TestOutcomeLostAnswerIsAskedAgain(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("carried out %v", done), func(t *testing.T) {
			c := fake(t)
			r := newTxRig(t, c.ListenAddrs()...)
			topic := r.topic(1)
			r.loseEndTxn(c, done, func() {})
			a := r.appender(r.tx, "t", 1)
			r.write(a, topic, 0, 1, "one")
			r.flush(r.tx, 1)
			if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); err != nil {
				t.Fatal(err)
			}
			r.awaitVisible(topic, 0, "one")
		})
	}
}

// The answer is lost and the id is fenced before it can be asked for again. Both outcomes answer the same, and are called the same.
func TestOutcomeLostAndFenced(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("carried out %v", done), func(t *testing.T) {
			c := fake(t)
			r := newTxRig(t, c.ListenAddrs()...)
			topic := r.topic(1)
			fencing := client(t, r.brokers)
			r.loseEndTxn(c, done, func() {
				q := kmsg.NewInitProducerIDRequest()
				q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = &r.ids[1], 10_000, -1, -1
				if _, err := q.RequestWith(r.ctx, fencing); err != nil {
					t.Error(err)
				}
			})
			a := r.appender(r.tx, "t", 1)
			r.write(a, topic, 0, 1, "one")
			r.flush(r.tx, 1)
			if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); !errors.Is(err, wire.ErrFenced) && !errors.Is(err, wire.ErrUnknownOutcome) {
				t.Fatal(err)
			}
			want, group := []string(nil), int64(-1)
			if done {
				want, group = []string{"one"}, 1
			}
			r.tx.Close()
			r.open()
			r.awaitVisible(topic, 0, want...)
			if got := r.group(topic); got != group {
				t.Errorf("the group is at %d, want %d", got, group)
			}
		})
	}
}

// loseEndTxn loses the answer to the first EndTxn, carried out or not, and then does something else before the next.
func (r *txRig) loseEndTxn(c *kfake.Cluster, done bool, then func()) {
	other := client(r.TB, r.brokers, kgo.MaxVersions(kversion.V3_0_0())) // speaks the version of the transaction protocol that sarama does
	lost := false
	c.ControlKey(int16(kmsg.EndTxn), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if lost {
			return nil, nil, false // the one sent for us below, and those that ask again
		}
		lost = true
		c.SleepControl(func() {
			if done {
				again := *q.(*kmsg.EndTxnRequest)
				if _, err := again.RequestWith(r.ctx, other); err != nil {
					r.Error(err)
				}
			}
			then()
		})
		return nil, errors.New("cut"), true
	})
}

// A process whose id was taken over learns it at its next step, and nothing of it becomes visible.
func TestFencedByAnotherProcess(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.write(a, topic, 0, 1, "zombie")
	r.flush(r.tx, 1)
	for _, id := range r.ids {
		if err := r.log.Fence(r.ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.tx.Commit(r.ctx, 1, r.who, r.at(topic, 1)); !errors.Is(err, wire.ErrFenced) {
		t.Fatal(err)
	}
	if r.tx.Err() == nil {
		t.Error("the writer goes on")
	}
	if got := r.visible(topic, 0); len(got) != 0 {
		t.Errorf("visible: %q", got)
	}
	open, err := r.log.OpenTransactions(r.ctx, r.ids[0])
	if err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
}

// A cluster that starts answers before any broker has registered with it.
func TestMaxTransactionTimeoutOfAClusterThatStarts(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	asked := 0
	c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if asked++; asked > 2 {
			return nil, nil, false
		}
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.ControllerID = -1
		return resp, nil, true
	})
	if most, err := r.log.MaxTransactionTimeout(r.ctx); err != nil || most != 15*time.Minute || asked < 3 {
		t.Errorf("%v, %v after %d questions", most, err, asked)
	}
}

func TestClosingWithUncutRecordsFails(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(1)
	a := r.appender(r.tx, "t", 1)
	r.to(a, topic).Append(0, time.Now().UnixMilli(), nil, []byte("x"), nil)
	a.Close()
	<-r.tx.Failed()
	if !errors.Is(r.tx.Err(), errUncut) {
		t.Error(r.tx.Err())
	}
}

func TestTransactionsRefuseAnImpossibleTimeout(t *testing.T) {
	kafkatest.NeedReal(t)
	r := newRig(t)
	_, err := r.log.Transactions(r.ctx, wire.TxConfig{IDs: [2]string{"timeout-0", "timeout-1"}, Timeout: 24 * time.Hour})
	if !errors.Is(err, wire.ErrRefused) {
		t.Error(err)
	}
	if most, err := r.log.MaxTransactionTimeout(r.ctx); err != nil || most != 15*time.Minute {
		t.Error(most, err)
	}
}

// Overlapping checkpoints from several tasks: everything once, each task's records in order.
func TestCheckpointsOverlap(t *testing.T) {
	r := newTxRig(t)
	topic := r.topic(3)
	const tasks, checkpoints, each = 4, 12, 50
	flushed := make(chan uint64, checkpoints)
	committed := make(chan error, 1)
	go func() {
		for n := range flushed {
			if _, err := r.tx.Flush(r.ctx, n); err != nil {
				committed <- err
				return
			}
			if err := r.tx.Commit(r.ctx, n, r.who, r.at(topic, int64(n))); err != nil {
				committed <- err
				return
			}
		}
		committed <- nil
	}()
	var appenders []wire.Appender
	for i := range tasks {
		appenders = append(appenders, r.appender(r.tx, fmt.Sprint(i), 1))
	}
	now := time.Now().UnixMilli()
	for n := uint64(1); n <= checkpoints; n++ {
		for i, a := range appenders {
			to := r.to(a, topic)
			for j := range each {
				to.Append(int32(j%3), now, fmt.Append(nil, i), fmt.Append(nil, n*each+uint64(j)), nil)
			}
			a.Cut(n)
		}
		flushed <- n
	}
	close(flushed)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	total := 0
	for p := range int32(3) {
		last := make(map[string]int)
		want := 0
		for j := range each {
			if j%3 == int(p) {
				want += tasks * checkpoints
			}
		}
		for _, rec := range r.consume(topic, p, want) {
			var v int
			fmt.Sscan(string(rec.Value), &v)
			if k := string(rec.Key); v <= last[k] {
				t.Fatalf("task %s wrote %d behind %d", k, v, last[k])
			} else {
				last[k] = v
			}
			total++
		}
	}
	if total != tasks*checkpoints*each {
		t.Errorf("%d records", total)
	}
}

// watch collects requests of some kinds.
func watch(c *kfake.Cluster, keys ...kmsg.Key) (seen func() []kmsg.Request) {
	var mu sync.Mutex
	var list []kmsg.Request
	for _, k := range keys {
		c.ControlKey(int16(k), func(q kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			mu.Lock()
			defer mu.Unlock()
			list = append(list, q)
			return nil, nil, false
		})
	}
	return func() []kmsg.Request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}
