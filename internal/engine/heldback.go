package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A heldBack is an open transaction behind which an input is not read, though its partition has more.
type heldBack struct {
	wire.Hold
	since int64 // when the reader first met it, in ms
	told  bool
}

// holdPatience is how long an open transaction may hold an input back before it is named, in ms: those of an app that works are over by then.
const holdPatience = 10_000

// holding is implemented by batches of sources that wait for open transactions.
type holding interface{ Holds() []wire.Hold }

// hold notes what the reader waits for behind a batch.
func (f *feed) hold(b task.Batch) {
	if h, ok := b.(holding); ok {
		f.r.s.hold(f, h.Holds())
	}
}

// hold replaces what a feed waits for. A transaction that it has met before keeps its time.
func (s *session) hold(f *feed, by []wire.Hold) {
	now := int64(0)
	if len(by) > 0 {
		now = s.now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.mu.held[f]
	if len(by) == 0 {
		if len(before) > 0 {
			delete(s.mu.held, f)
		}
		return
	}
	held := make([]heldBack, 0, len(by))
	for _, h := range by {
		at := heldBack{Hold: h, since: now}
		if i := slices.IndexFunc(before, func(o heldBack) bool { return o.Hold == h }); i >= 0 {
			at = before[i]
		}
		if now-at.since >= holdPatience && !at.told {
			at.told = true
			s.app.log.Warn("an open transaction holds an input back", "task", f.r.name, "input", f.name, "topic", h.Topic, "partition", h.Partition, "offset", h.Offset)
		}
		held = append(held, at)
	}
	if s.mu.held == nil {
		s.mu.held = map[*feed][]heldBack{}
	}
	s.mu.held[f] = held
}

// unhold forgets a feed that does not read any more.
func (s *session) unhold(f *feed) { s.hold(f, nil) }

// heldUpLocked says which inputs wait for open transactions.
func (s *session) heldUpLocked(now int64) error {
	var errs []error
	for f, held := range s.mu.held {
		for _, h := range held {
			if now-h.since >= holdPatience {
				errs = append(errs, fmt.Errorf("task %s: input %s: topic %s partition %d is not read behind offset %d, where a transaction begins that has been open for %v or longer: "+
					"its producer has to end it, or Kafka will after its transaction.timeout.ms",
					f.r.name, f.name, h.Topic, h.Partition, h.Offset, (time.Duration(now-h.since)*time.Millisecond).Round(time.Second)))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
