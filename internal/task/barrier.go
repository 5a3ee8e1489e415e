package task

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
)

// A Store is a task's part of some state, its types hidden: overlay.Store.
type Store interface {
	// Freeze encodes what changed since the last one as delta n. Processing goes on above it. An error names store and key.
	Freeze(n uint64) (*overlay.Delta, error)
	// Applied says that delta n is committed and in the database.
	Applied(n uint64)
	// Usage is what it holds in memory.
	Usage() overlay.Usage
	// SetLimit and Trim are for ShareState.
	SetLimit(bytes int)
	Trim()
}

// A Sink is the end of a sink in a task. Those inside the commit log have nothing to do here.
type Sink interface {
	Name() string
	// Prepare makes safe what was written for checkpoint n: Writer.Flush, or TxWriter.Prepare, whose handle it returns.
	Prepare(ctx context.Context, n uint64) (connector.Handle, error)
	// Commit makes what was prepared visible: TwoPhaseSink.Commit. Any goroutine may call it.
	Commit(ctx context.Context, h connector.Handle) error
	Close() error
}

// A Cut is a task's part of a checkpoint.
type Cut struct {
	N         uint64
	Positions []connector.Position // one per input, in the order of Task.Inputs
	Marks     []Mark               // likewise
	Upstream  [][]Mark             // likewise: what a Gathering input knows, nil of others
	Nodes     []NodeMark           // the operators that have to do with time
	Deltas    []*overlay.Delta     // one per store, in the order of Task.Stores
}

// A NodeMark is the input watermark of an operator: a floor for it after a restart, which the inputs' marks alone do not give.
type NodeMark struct {
	Name string
	W    int64
}

// Begin stops the inputs from outside until barrier n has passed: those of other tasks may still have to be drained up to it.
func (t *Task) Begin(n uint64) {
	for _, in := range t.Inputs {
		if s := in.State(); !s.Local {
			s.blocked = true
		}
	}
}

// Aligned reports whether barrier n has arrived on every channel.
func (t *Task) Aligned(n uint64) bool {
	for _, in := range t.Inputs {
		if !in.Aligned(n) {
			return false
		}
	}
	return true
}

// Barrier passes barrier n: what operators hold back is emitted, local exchanges carry the barrier on, and what changed is frozen.
func (t *Task) Barrier(n uint64) (cut *Cut, err error) {
	err = t.guard(func() {
		t.Context.began = noRecord
		t.flush()
		cut = &Cut{N: n, Nodes: t.marks()}
		for _, in := range t.Inputs {
			cut.Positions = append(cut.Positions, in.Position())
			cut.Marks = append(cut.Marks, in.State().Mark)
			var upstream []Mark
			if g, ok := in.(Gathering); ok {
				upstream = g.Marks()
			}
			cut.Upstream = append(cut.Upstream, upstream)
		}
		for _, s := range t.Stores {
			d, err := s.Freeze(n)
			if err != nil {
				panic(Failure{fmt.Errorf("task %s: %w", t.ID(), err)})
			}
			cut.Deltas = append(cut.Deltas, d)
		}
		for _, o := range t.Outs {
			o.Barrier(n)
		}
		for _, in := range t.Inputs {
			in.Pass(n)
			in.State().blocked = false
		}
	})
	return cut, err
}

// flush brings every node up to its input watermark and lets it emit what it holds back, upstream first. What is behind a node sees
// its output watermark move by that: held-back updates at the end of an input close windows within the same checkpoint.
func (t *Task) flush() {
	t.walk()
	t.walking = true
	for _, node := range t.Nodes {
		node.step()
		if node.Hooks.Barrier != nil {
			node.Hooks.Barrier()
			node.step()
		}
	}
	t.walk() // for when something is due next
}

// marks are the nodes' watermarks for the checkpoint. Of an input that has ended it keeps the latest time seen: a bounded source may
// have more when the app runs again, and that is not late.
func (t *Task) marks() (marks []NodeMark) {
	for _, n := range t.Nodes {
		w := n.in
		if w == MaxTime {
			w = MinTime
			for _, m := range n.from {
				if m.High != MaxTime {
					w = max(w, m.High)
				}
			}
		}
		if w != MinTime {
			marks = append(marks, NodeMark{n.Name, w})
		}
	}
	return marks
}

// Applied says that checkpoint n is committed and its deltas are in the database.
func (t *Task) Applied(n uint64) {
	for _, s := range t.Stores {
		s.Applied(n)
	}
}

// ShareState divides what a task may hold in memory among its stores. It is called between two turns.
func (t *Task) ShareState(limit int64) { overlay.Share(int(limit), t.Stores) }

// StateBytes is what changes of state hold in memory, and only a checkpoint can give back.
func (t *Task) StateBytes() int64 {
	var n int64
	for _, s := range t.Stores {
		u := s.Usage()
		n += int64(u.Dirty + u.Waiting + u.Frozen)
	}
	return n
}
