package memory

import (
	"context"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// positions are what a group says of partitions: open are those of which a transaction is not complete.
type positions struct {
	found map[wire.TopicPartition]wire.Committed
	open  map[wire.TopicPartition]bool
}

func (g *group) positions(of []wire.TopicPartition) positions {
	at := positions{map[wire.TopicPartition]wire.Committed{}, map[wire.TopicPartition]bool{}}
	for _, p := range of {
		if g.pending[p] > 0 {
			at.open[p] = true
		} else if c, ok := g.offsets[p]; ok {
			at.found[p] = c.Committed
		}
	}
	return at
}

// Committed is described at wire.Offsets.
func (cn *conn) Committed(ctx context.Context, name string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, error) {
	return ask(ctx, cn, faults.Request{Kind: faults.OffsetFetch, ID: name}, func(b *broker) (map[wire.TopicPartition]wire.Committed, error) {
		at := b.group(name).positions(of)
		if len(at.open) > 0 {
			return nil, errPending
		}
		return at.found, nil
	})
}

// Settled is described at wire.Offsets.
func (cn *conn) Settled(ctx context.Context, name string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, map[wire.TopicPartition]bool, error) {
	at, err := ask(ctx, cn, faults.Request{Kind: faults.OffsetFetch, ID: name}, func(b *broker) (positions, error) {
		return b.group(name).positions(of), nil
	})
	return at.found, at.open, err
}

// CommitPlain is described at wire.Offsets.
func (cn *conn) CommitPlain(ctx context.Context, who wire.Identity, at []wire.Position) error {
	commit := func(b *broker, _ bool) error {
		g, err := b.committer(who, at)
		if err != nil {
			return err
		}
		g.commit(g.append(), at)
		return nil
	}
	return cn.sendOrLose(ctx, faults.Request{Kind: faults.OffsetCommit, ID: who.Group}, commit, func() {
		if cn.unanswered == nil {
			cn.unanswered = map[string]wire.Identity{}
		}
		cn.unanswered[who.Group] = who
	})
}

// Unanswered is described at wire.Offsets.
func (cn *conn) Unanswered(who wire.Identity) bool {
	cn.c.mu.Lock()
	defer cn.c.mu.Unlock()
	was, any := cn.unanswered[who.Group]
	return any && was == who
}

// List is described at wire.Offsets.
func (cn *conn) List(ctx context.Context, where wire.Where, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	return cn.list(ctx, of, func(p *partition) int64 {
		switch where {
		case wire.Start:
			return p.start
		case wire.Stable:
			return p.stable()
		default:
			return p.end
		}
	})
}

// ListAtTime is described at wire.Offsets.
func (cn *conn) ListAtTime(ctx context.Context, t time.Time, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	return cn.list(ctx, of, func(p *partition) int64 { return p.at(t.UnixMilli()) })
}

func (cn *conn) list(ctx context.Context, of []wire.TopicPartition, find func(*partition) int64) (map[wire.TopicPartition]int64, error) {
	return ask(ctx, cn, faults.Request{Kind: faults.ListOffsets}, func(b *broker) (map[wire.TopicPartition]int64, error) {
		found := make(map[wire.TopicPartition]int64, len(of))
		for _, at := range of {
			p, err := b.partition(at)
			if err != nil {
				return nil, err
			}
			found[at] = find(p)
		}
		return found, nil
	})
}

// at is the first offset whose record is of time t or later.
func (p *partition) at(t int64) int64 {
	for _, b := range p.batches {
		if b.marker || b.maxTime < t {
			continue
		}
		for i := range b.records {
			if b.records[i].Time >= t && b.records[i].Offset >= p.start {
				return b.records[i].Offset
			}
		}
	}
	return p.end
}
