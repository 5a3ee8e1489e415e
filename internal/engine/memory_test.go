package engine

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// TestTaskKeepsToItsMemory has the stores of a task grow one after the other, each of which may take all that the task has when it is made. What they
// hold after a turn is one budget, and blocks that a burst took before its checkpoint was applied are given back.
func TestTaskKeepsToItsMemory(t *testing.T) {
	const limit, each = 1 << 20, 20_000
	db, err := state.InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{s: &session{events: newQueue[event]()}, t: task.New("task", 0), env: &TaskEnv{StateBytes: limit}, name: "task/0"}
	var stores []*overlay.Store[int64]
	for i := range 4 {
		name := fmt.Sprint("store", i)
		s := overlay.New(overlay.Config[int64]{Name: name, DB: db, Prefix: keys.Rows("task/0", name), Serde: serde.Int64, Plain: true, LimitBytes: limit})
		stores, r.t.Stores = append(stores, s), append(r.t.Stores, s)
	}
	n := uint64(0)
	fill := func(s *overlay.Store[int64], from, to int) {
		for k := from; k < to; k++ {
			s.Put(fmt.Append(nil, "key ", k), int64(k))
		}
	}
	checkpoint := func() {
		n++
		var b state.Batch
		for _, s := range stores {
			d, err := s.Freeze(n)
			if err != nil {
				t.Fatal(err)
			}
			d.AddTo(&b)
		}
		if err := db.Apply(&b, false); err != nil {
			t.Fatal(err)
		}
		r.t.Applied(n)
		r.publish()
	}
	for _, s := range stores { // each in turn would fill the task's memory
		for k := 0; k < each; k += 500 {
			fill(s, k, k+500)
			checkpoint()
		}
	}
	held := func() (used, reserved int) {
		for _, s := range stores {
			used, reserved = used+s.Usage().Resident+s.Usage().Frozen, reserved+s.Reserved()
		}
		return used, reserved
	}
	if used, _ := held(); used > limit*11/10 || used < limit/2 {
		t.Errorf("the stores hold %d bytes together, the task may hold %d", used, limit)
	}
	fill(stores[0], 0, 10*each) // at once: none of it can be forgotten
	_, burst := held()
	checkpoint()
	for range 20 { // a turn does so much and no more
		r.publish()
	}
	if used, reserved := held(); burst < 8*limit || used > limit*11/10 || reserved > 3*limit {
		t.Errorf("of %d bytes that a burst took, %d are reserved and %d in use; the task may hold %d", burst, reserved, used, limit)
	}
}
