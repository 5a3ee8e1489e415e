package task

// A Node is an operator of a running task. It has an input and an output watermark, and hooks.
//
// Output watermark = min(input watermark - delay, hold). Lateness is judged by the input watermark; what is downstream gets the output
// watermark. With one watermark per task, a window behind a window would lose records.
type Node struct {
	Name  string
	Hooks Hooks

	task      *Task
	parents   []*Node
	from      []*Mark // what is upstream of it in the walk; set by Seal
	up        []*Node // whose output the marks are; nil for those of inputs
	behind    int64   // how far its input watermark is behind those of the inputs, at least
	in        int64   // input watermark at the last walk
	out       Mark
	hold      int64 // the earliest time the operator may still emit
	delay     int64 // how far behind the input watermark it may always emit
	table     bool  // only tables that are not versioned are upstream
	next      int64 // the input watermark at which Hooks.Watermark is due
	clockNext int64
}

// Hooks are what an operator wants to hear of. Each may be nil.
type Hooks struct {
	// Watermark is called when the input watermark has reached what At asked for, and when it has reached the end of time. It emits
	// what is due and calls At again.
	Watermark func(w int64)
	// Barrier is called at a checkpoint, upstream nodes first: what is held back until checkpoints is emitted.
	Barrier func()
	// Clock is called when the wall clock has reached what AtClock asked for. It calls AtClock again.
	Clock func(now int64)
	// Start is called before the first record, with state restored; Stop after the last.
	Start func() error
	Stop  func() error
}

// In is the input watermark now: nothing earlier is on time any more. Between walks it follows the inputs record by record, behind
// operators that delay too, so that what is late does not depend on how records fall into batches.
func (n *Node) In() int64 {
	if !n.task.walking {
		for _, u := range n.up {
			if u != nil {
				u.advance()
			}
		}
	}
	if len(n.from) == 1 {
		if m := n.from[0]; !m.Idle && !m.Ended {
			return max(n.in, m.W)
		}
	}
	return max(n.in, Combine(n.from))
}

// advance moves the output watermark of a node that has nothing due.
func (n *Node) advance() {
	if in := n.In(); in > n.in && in < n.next {
		n.in = in
		n.out.W = max(n.out.W, n.outW())
	}
}

// Mark is what nodes downstream see of this one.
func (n *Node) Mark() *Mark { return &n.out }

// At asks for Hooks.Watermark when the input watermark reaches w.
func (n *Node) At(w int64) {
	if w < n.next {
		n.next = w
		n.task.due = min(n.task.due, n.dueAt())
	}
}

// AtClock asks for Hooks.Clock when the wall clock reaches ms.
func (n *Node) AtClock(ms int64) {
	n.clockNext = min(n.clockNext, ms)
	n.task.clockDue = min(n.task.clockDue, ms)
}

// Hold says that nothing earlier than t will be emitted; MaxTime, that nothing is pending. Output watermarks never sink, so a hold
// below the present one has no effect.
func (n *Node) Hold(t int64) { n.hold = t }

// Delay says that the operator may at any time emit what is up to ms older than its input watermark: a window with grace, a join
// that waits for a match. It only ever grows.
func (n *Node) Delay(ms int64) { n.delay = max(n.delay, ms) }

// outW is the output watermark that follows from the input watermark.
func (n *Node) outW() int64 {
	switch {
	case n.in == MaxTime || n.in < MinTime+n.delay:
		return min(n.in, n.hold)
	}
	return min(n.in-n.delay, n.hold)
}

// Restore takes the input watermark of the last checkpoint as a floor: what was closed then stays closed.
func (n *Node) Restore(w int64) { n.in = max(n.in, w) }

// dueAt is the watermark of the inputs at which the node has something to do, at the earliest.
func (n *Node) dueAt() int64 {
	if n.next > MaxTime-n.behind {
		return MaxTime
	}
	return n.next + n.behind
}

// walks reports whether the node has a part in the walk.
func (n *Node) walks() bool {
	h := &n.Hooks
	return h.Watermark != nil || h.Barrier != nil || h.Clock != nil || h.Start != nil || h.Stop != nil
}

// From is the combined mark of what is upstream: what an exchange passes on.
func (n *Node) From() Mark {
	idle, ended := Quiet(n.from)
	w := n.In()
	return Mark{W: w, High: w, Idle: idle, Ended: ended}
}

// Task is the task the node belongs to.
func (n *Node) Task() *Task { return n.task }

// step brings the node up to its input watermark.
func (n *Node) step() {
	n.in = n.In()
	n.behind = 0
	for i, u := range n.up {
		b := int64(0)
		if u != nil {
			b = u.behind + u.delay
		}
		if i == 0 || b < n.behind {
			n.behind = b
		}
	}
	if n.in >= n.next {
		n.next = MaxTime
		if n.Hooks.Watermark != nil {
			n.Hooks.Watermark(n.in)
		}
	}
	idle, ended := Quiet(n.from)
	n.out.W = max(n.out.W, n.outW())
	n.out.High = n.out.W
	n.out.Idle = idle
	n.out.Ended = ended && n.hold == MaxTime
}
