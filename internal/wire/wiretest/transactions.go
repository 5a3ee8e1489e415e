package wiretest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

func testTransactions(t *testing.T, c Cluster) {
	t.Run("CommitIsOneFact", func(t *testing.T) {
		p := c.process(t)
		p.append(0, "a")
		p.append(1, "b")
		ends := p.cut()
		if ends[at(p.topic, 0)] != 1 || ends[at(p.topic, 1)] != 1 {
			t.Errorf("ends are %v", ends)
		}
		p.must(p.commit(1, 10))
		p.sees(0, 1, "a")
		p.sees(1, 1, "b")
		p.isAt(10)
	})
	t.Run("OpenIsHidden", func(t *testing.T) {
		p := c.process(t)
		p.append(0, "open")
		p.cut()
		p.offset(wire.End, p.topic, 1)
		p.offset(wire.Stable, p.topic, 0)
		records, _ := p.take(p.reader(p.topic, 0, wire.ReadOptions{}), 1)
		if values(records) != "open" {
			t.Errorf("an uncommitted reader sees %q", values(records))
		}
		open, err := p.log.OpenTransactions(p.ctx, p.id)
		p.must(err)
		if len(open) != 1 || open[0].ID != p.id+"-1" {
			t.Errorf("open are %+v, want the id of checkpoint 1", open)
		}
		if found, err := p.log.OpenTransactions(p.ctx, p.id+"-x"); err != nil || len(found) != 0 {
			t.Errorf("with another prefix: %v %v", found, err)
		}
	})
	t.Run("TakeoverAborts", func(t *testing.T) {
		old := c.process(t)
		old.append(0, "lost")
		old.cut()
		p := old.again()
		p.append(0, "kept")
		ends := p.cut()
		p.must(p.commit(1, 7))
		p.sees(0, ends[at(p.topic, 0)], "kept")
		old.is(old.commit(1, 5), wire.ErrFenced)
		p.isAt(7)
		p.nothingOpen()
	})
	t.Run("FenceEndsWhatIsOpen", func(t *testing.T) {
		p := c.process(t)
		p.append(0, "lost")
		p.cut()
		p.must(p.connect().Fence(p.ctx, p.id+"-1"))
		p.nothingOpen()
		p.is(p.commit(1, 5), wire.ErrFenced)
	})
	t.Run("CheckpointsOverlap", func(t *testing.T) {
		p := c.process(t)
		var want []string
		for n := uint64(1); n <= 12; n++ {
			p.append(0, fmt.Sprint(n))
			want = append(want, fmt.Sprint(n))
			p.a.Cut(n)
			if n > 1 { // the one before is committed while this one is written
				p.must(p.flushed(n - 1))
				p.must(p.commit(n-1, int64(n-1)))
			}
		}
		ends, err := p.tx.Flush(p.ctx, 12)
		p.must(err)
		p.must(p.commit(12, 12))
		p.sees(0, ends[at(p.topic, 0)], want...)
		p.isAt(12)
	})
	// The end that Flush tells is what a restore reads to: a committed reader gets there, and has everything then.
	t.Run("FlushNamesTheRestoreTarget", func(t *testing.T) {
		p := c.process(t)
		for n := uint64(1); n <= 10; n++ {
			p.append(0, fmt.Sprint(n))
			target := p.cut()[at(p.topic, 0)]
			p.must(p.commit(n, int64(n)))
			records := p.until(p.reader(p.topic, 0, wire.ReadOptions{Committed: true}), target)
			if len(records) != int(n) {
				t.Fatalf("read to %d and got %q", target, values(records))
			}
		}
	})
	t.Run("PositionsAloneOpenNothing", func(t *testing.T) {
		p := c.process(t)
		p.cut()
		if p.tx.Wrote(1) {
			t.Error("Wrote reports records")
		}
		p.must(p.commit(1, 3))
		p.isAt(3)
		p.nothingOpen()
	})
	t.Run("NothingIsNothing", func(t *testing.T) {
		p := c.process(t)
		p.cut()
		p.must(p.tx.Commit(p.ctx, 1, wire.Identity{}, nil))
	})
	t.Run("AnotherGenerationDecidesNothing", func(t *testing.T) {
		p := c.process(t)
		p.append(0, "a")
		p.cut()
		stale := p.seat.m.Identity()
		stale.Generation += 7
		p.is(p.tx.Commit(p.ctx, 1, stale, p.position(9)), wire.ErrGeneration)
		p.must(p.commit(1, 3)) // the same transaction, with who is a member now
		p.sees(0, 1, "a")
		p.isAt(3)
	})
	t.Run("NeverUnfenced", func(t *testing.T) {
		p := c.process(t)
		p.append(0, "a")
		p.cut()
		if err := p.tx.Commit(p.ctx, 1, p.seat.m.Identity(), nil); err == nil {
			t.Error("records are committed without a position, so without asking the group")
		}
		q := c.process(t)
		q.append(0, "a")
		q.cut()
		if err := q.tx.Commit(q.ctx, 1, nobody(q.name+"-group"), q.position(1)); err == nil {
			t.Error("records are committed by nobody")
		}
	})
	t.Run("AloneIsFencedByItsIDs", func(t *testing.T) {
		p := c.process(t)
		old := p.alone()
		for n := uint64(1); n <= 5; n++ {
			old.append(0, fmt.Sprint(n))
			old.cut()
			old.must(old.tx.Commit(old.ctx, n, wire.Identity{}, nil))
		}
		old.append(0, "lost")
		old.cut()
		q := p.alone()
		q.append(0, "kept")
		ends := q.cut()
		q.must(q.tx.Commit(q.ctx, 1, wire.Identity{}, nil))
		q.is(old.tx.Commit(old.ctx, 6, wire.Identity{}, nil), wire.ErrFenced)
		q.sees(0, ends[at(p.topic, 0)], "1", "2", "3", "4", "5", "kept")
	})
}

// A process is a member of a group with transactions and one task, which writes to a topic of two partitions.
type process struct {
	*kit
	topic string
	id    string // before -0 and -1
	seat  *seat
	tx    wire.Transactions
	a     wire.Appender
	o     wire.Out
	next  uint64
}

func (c Cluster) process(t *testing.T) *process {
	t.Helper()
	k := c.start(t)
	p := &process{kit: k, topic: k.topic("t", 2), id: k.name}
	p.seat = p.join(p.name+"-group", p.topic, "")
	p.seat.holds(0, 1)
	p.open()
	return p
}

// again is the process that takes over from p. Its place in the group is the same: it has only been restarted.
func (p *process) again() *process {
	p.Helper()
	q := *p
	k := *p.kit
	k.log = p.connect()
	q.kit = &k
	q.open()
	return &q
}

// alone is a writer beside p without a group, under ids of its own: the same for each.
func (p *process) alone() *process {
	p.Helper()
	q := *p
	q.id = p.id + "/alone"
	q.begin(wire.TxConfig{Alone: true})
	return &q
}

func (p *process) open() { p.Helper(); p.begin(wire.TxConfig{}) }

func (p *process) begin(c wire.TxConfig) {
	p.Helper()
	c.IDs, c.Timeout = [2]string{p.id + "-0", p.id + "-1"}, time.Minute
	tx, err := p.log.Transactions(p.ctx, c)
	p.must(err)
	p.Cleanup(func() { _ = tx.Close() })
	p.tx, p.next = tx, 1
	p.a = p.appender(tx, 1)
	p.o = p.out(p.a, p.topic)
}

func (p *process) append(partition int32, value string) {
	p.o.Append(partition, p.now(), []byte("k"), []byte(value), nil)
}

// cut ends a checkpoint and waits for its records.
func (p *process) cut() map[wire.TopicPartition]int64 {
	p.Helper()
	p.a.Cut(p.next)
	ends, err := p.tx.Flush(p.ctx, p.next)
	p.must(err)
	p.next++
	return ends
}

func (p *process) flushed(n uint64) error {
	_, err := p.tx.Flush(p.ctx, n)
	return err
}

func (p *process) position(offset int64) []wire.Position {
	return []wire.Position{{TopicPartition: at(p.topic, 0), Committed: wire.Committed{Offset: offset, Metadata: "m"}}}
}

func (p *process) commit(n uint64, offset int64) error {
	return p.tx.Commit(p.ctx, n, p.seat.m.Identity(), p.position(offset))
}

// sees fails unless a committed reader finds these values before next.
func (p *process) sees(partition int32, next int64, want ...string) {
	p.Helper()
	r, err := p.log.Read(p.ctx, at(p.topic, partition), 0, wire.ReadOptions{Committed: true})
	p.must(err)
	defer r.Close()
	if got := values(p.until(r, next)); got != strings.Join(want, " ") {
		p.Errorf("a committed reader sees %q, want %q", got, want)
	}
}

func (p *process) isAt(want int64) {
	p.Helper()
	found, err := p.log.Committed(p.ctx, p.name+"-group", []wire.TopicPartition{at(p.topic, 0)})
	p.must(err)
	if got := found[at(p.topic, 0)]; got.Offset != want || got.Metadata != "m" {
		p.Errorf("the group is at %+v, want %d", got, want)
	}
}

// nothingOpen waits until no transaction of the process is open: markers may take a moment.
func (p *process) nothingOpen() {
	p.Helper()
	for {
		open, err := p.log.OpenTransactions(p.ctx, p.id)
		if err != nil {
			p.Fatalf("open are %v: %v", open, err)
		}
		if len(open) == 0 {
			return
		}
	}
}

// numbers are the partitions' numbers, sorted.
func numbers(parts []wire.TopicPartition) []int32 {
	var n []int32
	for _, p := range parts {
		n = append(n, p.Partition)
	}
	slices.Sort(n)
	return n
}
