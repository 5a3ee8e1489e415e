package engine

import "time"

// A draining watches the exchanges of a session that reads nothing from outside any more. They are empty when the tasks have done
// nothing between two checkpoints and know of nothing more to do.
type draining struct {
	on        bool
	processed int64
	quiet     int // checkpoints in a row
}

// drainedAfter is for how many checkpoints nothing must have happened: what one commits is visible to its readers before the next
// but one.
const drainedAfter = 3

// drain stops reading from outside, and has the loop go on until exchanges are empty.
func (s *session) drain() {
	s.app.setState("draining", nil)
	s.draining.on, s.early = true, true
	for _, r := range s.runners {
		sources := map[int]bool{}
		for _, src := range r.sub.Sources {
			sources[src.Input] = true
		}
		for _, f := range r.feeds {
			if sources[f.input] {
				f.stop()
			}
		}
	}
}

// drainInterval is the longest between two checkpoints meanwhile: several are waited for.
const drainInterval = 100 * time.Millisecond

// sooner is the interval of checkpoints, or less while the exchanges are emptied.
func (d *draining) sooner(interval time.Duration) time.Duration {
	if d.on {
		return min(interval, drainInterval)
	}
	return interval
}

// note is told of every commit.
func (d *draining) note(runners []*runner) {
	var processed, lag int64
	for _, r := range runners {
		r.status.Lock()
		processed += r.status.Processed
		for _, x := range r.sub.In {
			lag += r.lags[x.Input]
		}
		r.status.Unlock()
		lag += r.outboxed()
	}
	if lag == 0 && processed == d.processed {
		d.quiet++
	} else {
		d.quiet = 0
	}
	d.processed = processed
}

func (d *draining) done() bool { return d.on && d.quiet >= drainedAfter }
