package task

import (
	"testing"

	"github.com/weirstream/weir/connector"
)

// A still is an input whose records a test has taken already.
type still struct{ state InputState }

func (s *still) State() *InputState           { return &s.state }
func (s *still) Push(Batch)                   {}
func (s *still) Head() (int64, bool)          { return 0, false }
func (s *still) Run(int64, int) int           { return 0 }
func (s *still) Position() connector.Position { return "" }
func (s *still) Restart(connector.Position)   {}
func (s *still) Aligned(uint64) bool          { return true }
func (s *still) Pass(uint64)                  {}

// input adds one with a node of its own.
func (t *Task) input(name string, s InputState) (*Node, *still) {
	in := &still{s}
	in.state.Mark, in.state.Name = NewMark(), name
	n := t.AddNode(name, nil)
	t.AddInput(n, in)
	return n, in
}

// timed gives a node a part in the walk.
func timed(n *Node) *Node {
	n.Hooks.Watermark = func(int64) {}
	return n
}

func TestTablesDoNotHoldStreamsBack(t *testing.T) {
	tk := New("t", 0)
	s, stream := tk.input("stream", InputState{})
	tb, table := tk.input("table", InputState{Table: true})
	join := timed(tk.AddNode("join", []*Node{s, tb}))
	agg := timed(tk.AddNode("aggregate of the table", []*Node{tb}))
	both := timed(tk.AddNode("join with it", []*Node{s, agg}))
	tk.Seal()
	tk.Observe(&stream.state, 100)
	if join.In() != 100 || both.In() != 100 {
		t.Errorf("a table that is silent holds back: %d, %d", join.In(), both.In())
	}
	tk.Observe(&table.state, 40)
	if agg.In() != 40 {
		t.Errorf("what only tables lead to goes by them: %d", agg.In())
	}
	if w, by := tk.Watermark(); w != 100 || by != "stream" {
		t.Errorf("the task's watermark: %d, held by %q", w, by)
	}
}

// What is behind an operator that delays sees its watermark that much later, and is woken for it record by record.
func TestDelayIsSeenBehind(t *testing.T) {
	tk := New("t", 0)
	s, in := tk.input("in", InputState{Disorder: 10})
	first := timed(tk.AddNode("first", []*Node{s}))
	first.Delay(50)
	second := timed(tk.AddNode("second", []*Node{first}))
	var fired []int64
	second.Hooks.Watermark = func(w int64) { fired = append(fired, w) }
	tk.Seal()
	if err := tk.Start(0); err != nil {
		t.Fatal(err)
	}
	second.At(40)
	for _, at := range []int64{60, 99, 100, 101} {
		tk.Observe(&in.state, at)
	}
	if first.In() != 91 || second.In() != 41 {
		t.Errorf("got %d and %d", first.In(), second.In())
	}
	if len(fired) != 1 || fired[0] != 40 {
		t.Errorf("fired at %v, want 40 once", fired)
	}
	in.state.Ended = true
	if err := tk.Settle(); err != nil || second.In() != MaxTime {
		t.Errorf("the end of the input delays nothing: %d, %v", second.In(), err)
	}
}

// What is held back until a checkpoint holds the watermark back, and what its release closes is closed within the same checkpoint.
func TestHeldBackUntilTheBarrier(t *testing.T) {
	tk := New("t", 0)
	s, in := tk.input("in", InputState{})
	table := tk.AddNode("table", []*Node{s})
	table.Hooks.Barrier = func() { table.Hold(MaxTime) }
	window := timed(tk.AddNode("window", []*Node{table}))
	closed := int64(0)
	window.Hooks.Watermark = func(w int64) { closed = w }
	tk.Seal()
	tk.Observe(&in.state, 20)
	table.Hold(20)
	window.At(60)
	tk.Observe(&in.state, 80)
	in.state.Ended = true
	if err := tk.Settle(); err != nil || window.In() != 20 || closed != 0 {
		t.Fatalf("before the barrier: %d, closed %d, %v", window.In(), closed, err)
	}
	cut, err := tk.Barrier(1)
	if err != nil || closed != MaxTime {
		t.Fatalf("closed at %d, %v", closed, err)
	}
	again := New("t", 0)
	s, _ = again.input("in", InputState{})
	table = timed(again.AddNode("table", []*Node{s}))
	again.Seal()
	again.RestoreNodes(cut.Nodes)
	if table.In() != 80 {
		t.Errorf("the floor after a restart is the latest time seen: %d", table.In())
	}
}

func TestIdleInputs(t *testing.T) {
	tk := New("t", 0)
	a, quiet := tk.input("quiet", InputState{IdleAfter: 30})
	b, busy := tk.input("busy", InputState{IdleAfter: 30})
	n := timed(tk.AddNode("n", []*Node{a, b}))
	tk.Seal()
	tk.Observe(&quiet.state, 10)
	tk.Observe(&busy.state, 100)
	clock := func(now int64) int64 {
		t.Helper()
		if err := tk.Clock(now); err != nil {
			t.Fatal(err)
		}
		return n.In()
	}
	if got := clock(1000); got != 10 {
		t.Errorf("an input that was not read to its end is not idle: %d", got)
	}
	quiet.state.AtEnd = true
	clock(1000)
	if got := clock(1029); got != 10 {
		t.Errorf("before IdleAfter: %d", got)
	}
	if got := clock(1030); got != 100 {
		t.Errorf("idle: %d", got)
	}
	quiet.state.Took(1) // active again before its record is processed
	if got := n.In(); got != 100 {
		t.Errorf("a watermark sank to %d", got)
	}
	quiet.state.Queued = 0
	tk.Observe(&quiet.state, 300)
	busy.state.AtEnd = true
	clock(2000)
	if got := clock(2030); got != 300 {
		t.Errorf("all idle: the latest time seen, got %d", got)
	}
}

func TestClockWhenIdle(t *testing.T) {
	tk := New("t", 0)
	s, in := tk.input("in", InputState{IdleAfter: 30, ClockWhenIdle: true})
	n := timed(tk.AddNode("n", []*Node{s}))
	tk.Seal()
	tk.Observe(&in.state, 10)
	in.state.AtEnd = true
	for _, now := range []int64{1000, 1030, 1500} {
		if err := tk.Clock(now); err != nil {
			t.Fatal(err)
		}
	}
	if n.In() != 1500 {
		t.Errorf("the watermark follows the clock: %d", n.In())
	}
	if due := tk.ClockDue(); due > 1500+clockStep {
		t.Errorf("it asks for the clock again at %d", due)
	}
}
