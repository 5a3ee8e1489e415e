package engine

import (
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// diskKey is the key of the name that a database gets when it is new. It belongs to no task: a task's name is never empty.
var diskKey = keys.TaskRecord("", "disk")

// nameDisk reads which database this is, and names one that is new. It is synced before the first state can be.
func (b *base) nameDisk(refs []taskRef) error {
	if !slices.ContainsFunc(refs, taskRef.logged) {
		return nil
	}
	var name string
	found, err := b.db.Get(diskKey, func(value []byte) error {
		name = string(value)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the name of the state on disk: %w", err)
	}
	if !found {
		name = rand.Text()
		var batch state.Batch
		batch.Put(diskKey, []byte(name))
		if err := b.db.Apply(&batch, true); err != nil {
			return fmt.Errorf("write the name of the state, which is new: %w", err)
		}
	}
	b.warmth.mu.Lock()
	defer b.warmth.mu.Unlock()
	b.warmth.disk = name
	return nil
}

// markLocked is this process as a plan is made for it: its disk, and the tasks that its topology has.
func (w *warmth) markLocked() string {
	h := fnv.New64a()
	add := func(text string) { _, _ = h.Write(append([]byte(text), 0)) } // it never fails
	add(w.disk)
	for _, t := range w.refs {
		add(t.name())
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// outdates reports whether an assignment was planned for another state of this process than it is in. That of a leader whose version does not say
// is taken as it is. One that had something to give up is not over: who was to get it waits for a round that only the process before this one would
// have begun.
func (w *warmth) outdates(a *wire.Assigned) bool {
	d := decodeMember(a.UserData)
	w.mu.Lock()
	defer w.mu.Unlock()
	return d.Version >= markVersion && (d.Mark != w.markLocked() || d.Gives)
}
