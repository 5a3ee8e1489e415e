package stream

import (
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// refusedStore is that of the values that a group has not taken in. It is there only where the policy is not Fail.
func refusedStore(name string) storeSpec {
	return storeSpec{name: name + "-refused", changelog: true, unlessFail: true}
}

// A refused is what the functions of a grouped table have rejected and the groups therefore do not have: how often each value, by group. Rows
// with equal values are as good as each other, so their keys, which an aggregate does not know, do not matter.
type refused[V any] struct {
	store *overlay.Store[int64]
	value serde.Serde[V]
	known bool // whether there is any
	any   bool
	place []byte
}

// newRefused opens the store; from is the node that the changes come from.
func newRefused[K, V any](in *instance, from *topology.Node, name string) *refused[V] {
	changes := in.results[from].(*exchangeSerdes[K, table.Change[V]]).value.(changeSerde[V])
	return &refused[V]{value: changes.value, store: openStore(in, "refused", refusedStore(name).name, serde.Bytes, serde.Int64, true, nil, false)}
}

// at is where a value of a group is.
func (r *refused[V]) at(key []byte, v V) []byte {
	b, err := r.value.Append(keys.AppendBytes(r.place[:0], key), v)
	if err != nil {
		Reject(err)
	}
	r.place = b
	return b
}

// add notes a value.
func (r *refused[V]) add(key []byte, v V) {
	e := r.store.Entry(r.at(key, v))
	r.store.Set(e, e.Value+1)
	r.known, r.any = true, true
}

// take reports whether a value is not in its group, and forgets it once.
func (r *refused[V]) take(key []byte, v V) bool {
	if !r.known {
		r.known = true
		for range r.store.Range(nil, nil) {
			r.any = true
			break
		}
	}
	if !r.any {
		return false
	}
	e := r.store.Entry(r.at(key, v))
	switch n, ok := e.Get(); {
	case !ok:
		return false
	case n > 1:
		r.store.Set(e, n-1)
	default:
		r.store.Remove(e)
	}
	return true
}

// refuse follows a change that a function has rejected. What add rejects is not in the group: neither it nor, in an update, the row that was there
// before. A row that sub rejects stays in.
func (a *regrouper[K, V, R]) refuse(c *task.Context, key []byte, k K, ch table.Change[V]) {
	if !try(c, a.node, a.reject, func() { a.refused.add(key, ch.New) }) || !ch.HadOld {
		return
	}
	if f, ok := a.attempt(c, a.quiet, key, k, table.Change[V]{Old: ch.Old, HadOld: true}); ok {
		a.set(c, k, f)
	}
}
