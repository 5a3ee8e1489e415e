package engine

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/state"
)

// TestLocalLogKeepsRecords: what a commit says of each task comes back. Numbers go on behind the highest, also where a task has none of the
// last checkpoint: one of a sub-topology that was taken out for a while.
func TestLocalLogKeepsRecords(t *testing.T) {
	db, err := state.InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{plan: &Plan{}, config: &Config{}}
	l := &localLog{s: s, db: &database{DB: db}}
	early, late := taskRef{sub: &Sub{Name: "early"}}, taskRef{sub: &Sub{Name: "late"}, partition: 1}
	nodes := []task.NodeMark{{Name: "window", W: 77}}
	for n, ref := range map[uint64]taskRef{5: early, 7: late} {
		r := &runner{s: s, sub: ref.sub, name: ref.name(), t: task.New(ref.sub.Name, ref.partition)}
		cp := &checkpoint{n: n, parts: []*prepared{{r: r, cut: &task.Cut{N: n, Nodes: nodes}}}}
		if err := l.commit(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
	}
	refs := []taskRef{early, {sub: &Sub{Name: "new"}}, late}
	for range 2 {
		got, err := l.recover(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		if got.n != 7 || len(got.tasks) != 2 || got.tasks["early/0"].n != 5 || got.tasks["late/1"].n != 7 {
			t.Errorf("checkpoint %d and %v", got.n, got.tasks)
		}
		for name, rec := range got.tasks {
			if !reflect.DeepEqual(rec.nodes, nodes) {
				t.Errorf("task %s: %v", name, rec.nodes)
			}
		}
		slices.Reverse(refs)
	}
}
