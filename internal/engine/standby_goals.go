package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// goals reads what is committed of the tasks, and where their changelogs end. A task of which that cannot be said has no goal, nor has one that an
// open transaction holds up: a frozen process may have it open for long, and the copies of all other tasks go on.
func (b *standbys) goals(ctx context.Context, all []*follow) (to map[string]targets, ends map[wire.TopicPartition]int64, err error) {
	s := b.s
	var of, logs []wire.TopicPartition
	fresh := false
	for _, f := range all {
		of = append(of, f.ref.partitions...)
		of = append(of, s.changelogsOf(f.ref)...)
		logs = append(logs, s.changelogsOf(f.ref)...)
		fresh = fresh || !f.ready
	}
	committed, open, err := s.base.log.Settled(ctx, s.plan.App, of)
	if err != nil {
		return nil, nil, fmt.Errorf("read the group's positions: %w", err)
	}
	if ends, err = s.base.log.List(ctx, wire.Stable, logs); err != nil {
		return nil, nil, err
	}
	var known *records
	if fresh {
		if known, err = b.l.records(ctx, wire.Stable); err != nil {
			return nil, nil, err
		}
	}
	to = map[string]targets{}
	for _, f := range all {
		goal, err := b.goalOf(f, committed, open, known)
		switch {
		case errors.Is(err, errHeldUp):
			b.heldUp(f, err)
		case err != nil:
			b.note(f, err)
		default:
			to[f.ref.name()] = goal
		}
	}
	return to, ends, b.withhold(ctx, all, to, ends)
}

// errHeldUp is why a copy has no goal for now.
var errHeldUp = errors.New("a transaction is open, maybe of a process that is frozen")

// goalOf is what was last committed of a task. known are the formats of stores, for a copy that is new.
func (b *standbys) goalOf(f *follow, committed map[wire.TopicPartition]wire.Committed, open map[wire.TopicPartition]bool, known *records) (targets, error) {
	for _, tp := range append(b.s.changelogsOf(f.ref), f.ref.partitions...) {
		if open[tp] {
			return nil, fmt.Errorf("position of %s/%d: %w", tp.Topic, tp.Partition, errHeldUp)
		}
	}
	said, err := b.s.saidOf(f.ref, committed)
	if err != nil {
		return nil, err
	}
	if f.ready {
		return said.to, nil
	}
	for _, st := range f.ref.sub.Stores {
		if st.Changelog && !known.whole && known.formats[st.Name] == nil {
			return nil, fmt.Errorf("format of store %s: %w", st.Name, errHeldUp)
		}
	}
	if err := b.l.adoptFormats(f.ref, known.formats); err != nil {
		return nil, err
	}
	f.ready = true
	return said.to, nil
}

// withhold takes the goals away that cannot be read up to yet: markers of what is committed may be missing, and behind another open transaction nothing
// is read. ends are stable ones.
func (b *standbys) withhold(ctx context.Context, all []*follow, to map[string]targets, ends map[wire.TopicPartition]int64) error {
	type goal struct {
		f  *follow
		at int64
	}
	beyond := map[wire.TopicPartition]goal{}
	for _, f := range all {
		for _, st := range f.ref.sub.Stores {
			tp := wire.TopicPartition{Topic: b.s.plan.changelogTopic(st.Name), Partition: int32(f.ref.partition)}
			if at := to[f.ref.name()][storeTag(st.Name)]; st.Changelog && at > ends[tp] {
				beyond[tp] = goal{f, at}
			}
		}
	}
	if len(beyond) == 0 {
		return nil
	}
	last, err := b.s.base.log.List(ctx, wire.End, slices.Collect(maps.Keys(beyond)))
	if err != nil {
		return err
	}
	for tp, g := range beyond {
		if g.at <= last[tp] {
			b.heldUp(g.f, fmt.Errorf("changelog %s/%d at %d: %w", tp.Topic, tp.Partition, ends[tp], errHeldUp))
			delete(to, g.f.ref.name())
		} else {
			ends[tp] = last[tp] // records are lost, and the restore says so
		}
	}
	return nil
}

// heldPatience is how long a copy waits for an open transaction before it says so, in ms.
const heldPatience = 10_000

// heldUp notes that a copy waits for a transaction. Most are over in a moment.
func (b *standbys) heldUp(f *follow, err error) {
	if f.held == 0 {
		f.held = b.s.now()
	}
	if b.s.now()-f.held >= heldPatience {
		b.note(f, err)
	}
}
