package stream

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// A ttl finds what was not written for a time without scanning a store: an index by time, coarse enough that a key which is written
// all the time moves in it seldom. A key that has expired is absent at once, and leaves the store with the next pruning.
type ttl struct {
	run   *processing
	life  int64
	step  int64 // the index is exact to this
	index *overlay.Store[struct{}]
	buf   []byte
}

// ttlSuffix is that of an index's store.
const ttlSuffix = "-ttl"

// pruneEvery is how often expired state is deleted, in ms.
const pruneEvery = 1000

// ttlSteps is how often a key moves in the index within its life, at most.
const ttlSteps = 16

func openTTL(in *instance, run *processing, name string, life time.Duration) *ttl {
	t := &ttl{run: run, life: life.Milliseconds()}
	t.step = max(1, t.life/ttlSteps)
	t.index = openStore(in, "ttl", name+ttlSuffix, serde.Bytes, serde.Unit, true, nil, false)
	return t
}

// gone reports whether what was written at a time has expired.
func (t *ttl) gone(written, now int64) bool { return t != nil && now-written >= t.life }

// touch moves a key in the index.
func (t *ttl) touch(key []byte, before int64, had bool, now int64) {
	if had && before/t.step == now/t.step {
		return
	}
	t.buf = keys.AppendByTime(t.buf[:0], now/t.step*t.step, key)
	t.index.Put(t.buf, struct{}{})
	if t.run.guarded {
		added := append([]byte(nil), t.buf...)
		t.run.undo = append(t.run.undo, func() { t.index.Delete(added) })
	}
}

// prune has everything looked at whose place in the index is old enough, and takes it out of there. What was written again since has
// another place.
func (t *ttl) prune(now int64, expire func(key []byte, limit int64)) {
	limit := now - t.life
	var due [][]byte
	for k := range t.index.Range(nil, keys.AppendTime(nil, limit-t.step+1)) {
		due = append(due, append([]byte(nil), k...))
	}
	for _, k := range due {
		_, key, err := keys.CutByTime(k)
		if err != nil {
			panic(task.Failure{Err: fmt.Errorf("index of expiring state: %w", err)})
		}
		expire(key, limit)
		t.index.Delete(k)
	}
}
