package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// A rig is a process on a cluster with a virtual clock: one task that writes to topic out and moves group g along topic in.
type rig struct {
	*testing.T
	c    *memory.Cluster
	log  wire.Log
	tx   wire.Transactions
	app  wire.Appender
	out  wire.Out
	seat wire.Membership
	next uint64
}

func newCluster(t *testing.T, judge faults.Judge) *memory.Cluster {
	t.Helper()
	c := &memory.Cluster{Start: epoch, Poison: true, Judge: judge}
	for _, topic := range []string{"in", "out"} {
		if err := c.Create(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// start connects a process that takes over the ids, and begins at checkpoint 1.
func start(t *testing.T, c *memory.Cluster) *rig {
	t.Helper()
	r := &rig{T: t, c: c, log: connect(t, c), next: 1}
	var err error
	if r.tx, err = r.log.Transactions(t.Context(), wire.TxConfig{IDs: [2]string{"app-0", "app-1"}, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	r.seat = soleMember(t, r.log)
	if r.app, err = r.tx.Appender("task", 1); err != nil {
		t.Fatal(err)
	}
	if r.out, err = r.app.To(t.Context(), "out"); err != nil {
		t.Fatal(err)
	}
	return r
}

// soleMember takes the seat of instance i in group g, from whoever had it.
func soleMember(t testing.TB, l wire.Log) wire.Membership {
	t.Helper()
	m, err := l.Join(t.Context(), wire.GroupConfig{Group: "g", Instance: "i", Plan: func([]wire.Member) map[string]wire.Assignment { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// write appends a value and cuts the next checkpoint behind it.
func (r *rig) write(value string) {
	r.out.Append(0, r.log.Now().UnixMilli(), []byte("k"), []byte(value), nil)
	r.app.Cut(r.next)
	r.next++
}

// commit commits checkpoint n with the position n.
func (r *rig) commit(n uint64) error {
	r.Helper()
	if _, err := r.tx.Flush(r.Context(), n); err != nil {
		return err
	}
	return r.tx.Commit(r.Context(), n, r.seat.Identity(), []wire.Position{position(int64(n))})
}

func position(n int64) wire.Position {
	return wire.Position{TopicPartition: in, Committed: wire.Committed{Offset: n}}
}

var (
	in  = wire.TopicPartition{Topic: "in"}
	out = wire.TopicPartition{Topic: "out"}
)

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// shows fails unless readers see these values and the group is at that position.
func (r *rig) shows(values string, position int64) {
	r.Helper()
	if got := committed(r.T, r.c, "out"); got != values {
		r.Errorf("readers see %q, want %q", got, values)
	}
	if got := r.c.Committed("g")[in].Offset; got != position {
		r.Errorf("group is at %d, want %d", got, position)
	}
}

func committed(t *testing.T, c *memory.Cluster, topic string) string {
	t.Helper()
	records, _, err := c.Records(topic, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, r := range records {
		values = append(values, string(r.Value))
	}
	return strings.Join(values, " ")
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// nth makes a judge that gives the k-th request of a kind (from 1) a fate.
func nth(kind faults.Kind, k int, f faults.Fate) faults.Judge {
	return faults.JudgeFunc(func(r faults.Request) faults.Fate {
		if r.Kind != kind {
			return faults.Fate{}
		}
		if k--; k == 0 {
			return f
		}
		return faults.Fate{}
	})
}

func TestCommitIsAtomic(t *testing.T) {
	r := start(t, newCluster(t, nil))
	r.write("a")
	_, err := r.tx.Flush(t.Context(), 1)
	r.must(err)
	r.shows("", 0)
	if open := r.c.OpenTransactions("app-"); len(open) != 1 || open[0] != "app-1" {
		t.Errorf("open are %v, want the id of odd checkpoints", open)
	}
	r.must(r.commit(1))
	r.shows("a", 1)
}

func TestCheckpointsOverlap(t *testing.T) {
	r := start(t, newCluster(t, nil))
	r.write("a")
	r.write("b")
	r.write("c") // needs the id of 1, which is not committed yet
	if !r.tx.Wrote(1) || !r.tx.Wrote(2) || !r.tx.Wrote(3) || r.tx.Wrote(4) {
		t.Error("Wrote is wrong")
	}
	if _, err := r.tx.Flush(ended(), 3); !errors.Is(err, context.Canceled) {
		t.Fatalf("Flush(3) before 1 is committed: %v", err)
	}
	for n := uint64(1); n <= 3; n++ {
		r.must(r.commit(n))
	}
	r.shows("a b c", 3)
}

func TestMarkersHoldBackTheStableOffset(t *testing.T) {
	r := start(t, newCluster(t, nil))
	r.write("a")
	r.must(r.commit(1))
	r.c.HoldMarkers()
	r.write("b")
	r.must(r.commit(2))
	r.shows("a", 1)
	at := func(where wire.Where) int64 {
		found, err := r.log.List(t.Context(), where, []wire.TopicPartition{out})
		r.must(err)
		return found[out]
	}
	if stable, end := at(wire.Stable), at(wire.End); stable != 2 || end != 3 {
		t.Errorf("stable %d, end %d, want 2 behind the first marker, and 3", stable, end)
	}
	if _, err := r.log.Committed(ended(), "g", []wire.TopicPartition{in}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stable fetch does not wait for the transaction: %v", err)
	}
	other := wire.TopicPartition{Topic: in.Topic, Partition: in.Partition + 1}
	if found, open, err := r.log.Settled(ended(), "g", []wire.TopicPartition{in, other}); err != nil || len(found) != 0 || !open[in] || open[other] {
		t.Errorf("found %v, open %v, %v: one is open", found, open, err)
	}
	r.c.Settle()
	r.shows("a b", 2)
	if stable := at(wire.Stable); stable != 4 {
		t.Errorf("stable is %d, want 4 behind the second marker", stable)
	}
	found, err := r.log.Committed(t.Context(), "g", []wire.TopicPartition{in})
	r.must(err)
	if found[in].Offset != 2 {
		t.Errorf("committed %v", found)
	}
}

func TestTakeoverAbortsAndFences(t *testing.T) {
	c := newCluster(t, nil)
	old := start(t, c)
	old.write("lost")
	old.write("lost too")
	fresh := start(t, c)
	fresh.shows("", 0)
	for n := uint64(1); n <= 2; n++ {
		if err := old.commit(n); !errors.Is(err, wire.ErrFenced) {
			t.Errorf("commit %d of the old process: %v, want ErrFenced", n, err)
		}
	}
	fresh.write("kept")
	fresh.must(fresh.commit(1))
	fresh.shows("kept", 1)
	if open := c.OpenTransactions(""); len(open) != 0 {
		t.Errorf("open are %v", open)
	}
	reader, err := fresh.log.Read(t.Context(), out, 0, wire.ReadOptions{Committed: true})
	fresh.must(err)
	b, err := reader.Next(t.Context())
	fresh.must(err)
	// Two aborted records, their markers, the record and its marker: the position passes over what is not seen.
	if len(b.Records) != 1 || b.Records[0].Offset != 4 || b.Next != 6 {
		t.Errorf("read %d records, then %d", len(b.Records), b.Next)
	}
}

func TestExpiredTransaction(t *testing.T) {
	r := start(t, newCluster(t, nil))
	r.write("late")
	_, err := r.tx.Flush(t.Context(), 1)
	r.must(err)
	r.c.Advance(59 * time.Second)
	if open := r.c.OpenTransactions(""); len(open) != 1 {
		t.Fatalf("open are %v before the timeout", open)
	}
	r.c.Advance(time.Second)
	if open := r.c.OpenTransactions(""); len(open) != 0 {
		t.Fatalf("open are %v after the timeout", open)
	}
	if err := r.commit(1); !errors.Is(err, wire.ErrFenced) {
		t.Errorf("commit of an expired transaction: %v, want ErrFenced", err)
	}
	r.shows("", 0)
}

func TestFence(t *testing.T) {
	r := start(t, newCluster(t, nil))
	r.write("lost")
	r.must(r.log.Fence(t.Context(), "app-1"))
	if open := r.c.OpenTransactions(""); len(open) != 0 {
		t.Errorf("open are %v", open)
	}
	if err := r.commit(1); !errors.Is(err, wire.ErrFenced) {
		t.Errorf("commit: %v, want ErrFenced", err)
	}
	r.shows("", 0)
}

func TestPositionsAloneOpenNothing(t *testing.T) {
	begun := false
	r := start(t, newCluster(t, faults.JudgeFunc(func(r faults.Request) faults.Fate {
		begun = begun || r.Kind == faults.AddPartitions || r.Kind == faults.TxnOffsets || r.Kind == faults.EndTxn
		return faults.Fate{}
	})))
	r.app.Cut(1)
	r.must(r.commit(1))
	r.shows("", 1)
	if begun {
		t.Error("a transaction was opened for nothing")
	}
}

// The coordinator gives another producer id when an epoch has counted to its end; a client that kept the old one would be fenced.
func TestEpochsRunOut(t *testing.T) {
	r := start(t, newCluster(t, nil))
	var want []string
	for n := uint64(1); n <= 250; n++ {
		want = append(want, fmt.Sprint(n))
		r.write(fmt.Sprint(n))
		r.must(r.commit(n))
	}
	r.shows(strings.Join(want, " "), 250)
}

func TestOutcomesAreRead(t *testing.T) {
	always := func(kind faults.Kind, f faults.Fate) faults.Judge {
		return faults.JudgeFunc(func(r faults.Request) faults.Fate {
			if r.Kind == kind {
				return f
			}
			return faults.Fate{}
		})
	}
	for name, c := range map[string]struct {
		judge faults.Judge
		want  error
		shows string
	}{
		"answer lost once":     {nth(faults.EndTxn, 1, faults.Fate{Lose: true}), nil, "a"},
		"request lost once":    {nth(faults.EndTxn, 1, faults.Fate{Drop: true}), nil, "a"},
		"answers always lost":  {always(faults.EndTxn, faults.Fate{Lose: true}), wire.ErrUnknownOutcome, "a"},
		"requests always lost": {always(faults.EndTxn, faults.Fate{Drop: true}), wire.ErrUnknownOutcome, ""},
		"killed after":         {nth(faults.EndTxn, 1, faults.Fate{KillDone: true}), wire.ErrUnknownOutcome, "a"},
		"killed before":        {nth(faults.EndTxn, 1, faults.Fate{Kill: true}), wire.ErrUnknownOutcome, ""},
		"produce lost":         {nth(faults.Produce, 1, faults.Fate{Lose: true}), nil, "a"},
		"produce repeated":     {nth(faults.Produce, 1, faults.Fate{Again: 1}), nil, "a"},
		"positions lost":       {nth(faults.TxnOffsets, 1, faults.Fate{Lose: true}), nil, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, newCluster(t, c.judge))
			r.write("a")
			if err := r.commit(1); !errors.Is(err, c.want) {
				t.Fatalf("commit: %v, want %v", err, c.want)
			}
			r.shows(c.shows, int64(len(c.shows)))
		})
	}
}

// A request that is repeated or arrives late hits no later transaction, because each has an epoch of its own.
func TestLateRequestsHitNothing(t *testing.T) {
	for _, kind := range []faults.Kind{faults.Produce, faults.TxnOffsets, faults.EndTxn, faults.AddPartitions} {
		for _, fate := range []faults.Fate{{After: 5}, {After: 9}, {Again: 5}, {Again: 9}, {Again: 13}, {Again: 20}} {
			t.Run(fmt.Sprintf("%s %+v", kind, fate), func(t *testing.T) {
				r := start(t, newCluster(t, nth(kind, 2, fate)))
				for n := uint64(1); n <= 6; n++ {
					r.write(fmt.Sprint(n))
					if n >= 2 { // n−1 is committed while n is written
						r.must(r.commit(n - 1))
					}
				}
				r.shows("1 2 3 4 5", 5)
				r.must(r.commit(6))
				r.c.Settle()
				r.shows("1 2 3 4 5 6", 6)
			})
		}
	}
}

// Markers of different partitions are written at different times.
func TestMarkersArriveLate(t *testing.T) {
	r := start(t, newCluster(t, faults.JudgeFunc(func(r faults.Request) faults.Fate {
		if r.Kind == faults.Marker && r.Topic == "out" {
			return faults.Fate{After: 6}
		}
		return faults.Fate{}
	})))
	r.write("a")
	r.must(r.commit(1))
	r.shows("", 1) // the position is there before the record can be seen
	reader, err := r.log.Read(t.Context(), out, 0, wire.ReadOptions{Committed: true})
	r.must(err)
	polls := 0
	for {
		b, err := reader.Next(ended())
		if err == nil && len(b.Records) == 1 {
			break
		}
		if polls++; polls > 10 {
			t.Fatal("the marker never comes")
		}
	}
	if polls == 0 {
		t.Error("the marker was not late")
	}
}
