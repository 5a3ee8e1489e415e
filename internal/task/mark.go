package task

import "math"

// The ends of event time.
const (
	MinTime = math.MinInt64 // no watermark yet
	MaxTime = math.MaxInt64 // the watermark of a bounded input that has ended
)

// A Mark is what one input, channel or operator says of event time.
type Mark struct {
	W     int64 // nothing earlier comes from here; MinTime before the first record
	High  int64 // the latest event time seen
	Idle  bool  // read to its end for long enough: others do not wait for it
	Ended bool  // nothing comes any more
}

// NewMark is a mark before the first record.
func NewMark() Mark { return Mark{W: MinTime, High: MinTime} }

// Combine is the watermark behind several inputs: the minimum over those that are active. When all are idle it goes on to the
// latest time that any of them has seen; when all have ended, to the end of time.
func Combine(marks []*Mark) int64 {
	if len(marks) == 1 && !marks[0].Idle && !marks[0].Ended {
		return marks[0].W
	}
	w, active, ended := int64(MaxTime), false, true
	high := int64(MinTime)
	for _, m := range marks {
		high = max(high, m.High)
		if m.Ended {
			continue
		}
		ended = false
		high = max(high, m.W)
		if !m.Idle {
			w, active = min(w, m.W), true
		}
	}
	switch {
	case active:
		return w
	case ended && len(marks) > 0:
		return MaxTime
	}
	return high
}

// Quiet reports whether no mark is active.
func Quiet(marks []*Mark) (idle, ended bool) {
	idle, ended = true, true
	for _, m := range marks {
		idle = idle && (m.Idle || m.Ended)
		ended = ended && m.Ended
	}
	return idle, ended
}
