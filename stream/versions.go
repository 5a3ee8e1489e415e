package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// pastSuffix is that of the store of a table's history.
const pastSuffix = "-history"

// An asOf finds the row of a key as it was at a time.
type asOf[K, V any] func(k K, t int64) (v V, at int64, ok bool)

// A past is the history of a versioned table in one task: each version under its key and the time from which it was valid, newest
// first. It reaches back for life behind the newest update; an update that is older is too late, and counted.
type past[K, V any] struct {
	rows    *rows[K, V]
	store   *overlay.Store[version[V]]
	life    int64
	newest  int64
	tooLate func(int64)
	buf     []byte
}

// A version is a row from some time on; one that is gone was deleted then.
type version[V any] struct {
	v    V
	gone bool
}

type versionSerde[V any] struct{ value serde.Serde[V] }

func (s versionSerde[V]) Append(dst []byte, v version[V]) ([]byte, error) {
	if v.gone {
		return append(dst, 1), nil
	}
	return s.value.Append(append(dst, 0), v.v)
}

func (s versionSerde[V]) Decode(b []byte) (v version[V], err error) {
	if len(b) == 0 {
		return v, fmt.Errorf("a version has no bytes")
	}
	if v.gone = b[0] == 1; v.gone {
		return v, nil
	}
	v.v, err = s.value.Decode(b[1:])
	return v, err
}

func (s versionSerde[V]) Format() string { return "version/1:" + s.value.Format() }

// pastOf opens the history of a table's node, once per task; nil when it is not versioned.
func pastOf[K, V any](in *instance, n *topology.Node) *past[K, V] {
	life := specOf(n).opts.versioned
	if life <= 0 {
		return nil
	}
	name := n.Stores[0] + pastSuffix
	if p, ok := in.shared[name]; ok {
		return p.(*past[K, V])
	}
	s := in.results[n].(*rowSerdes[K, V])
	p := &past[K, V]{rows: rowsOf[K, V](in, n), life: life.Milliseconds(), newest: task.MinTime,
		store:   openStore(in, "history", name, serde.Bytes, versionSerde[V]{s.value}, serde.Plain[V](), nil, false),
		tooLate: in.env.Count("weir_dropped_total", "node", n.Name, "reason", "older than the history")}
	in.shared[name] = p
	return p
}

// add notes an update, and reports whether it is the latest of its key.
func (p *past[K, V]) add(u *upserter[K, V], c *task.Context, k K, v V, has bool) bool {
	key, err := p.rows.encode(k)
	if err != nil {
		c.Fault = u.node
		u.reject(c, err, nil)
		return false
	}
	if p.newest != task.MinTime && c.Time < p.newest-p.life {
		p.tooLate(1)
		return false
	}
	p.newest = max(p.newest, c.Time)
	p.buf = keys.AppendVersion(p.buf[:0], key, c.Time)
	p.store.Put(p.buf, version[V]{v, !has})
	p.forget(key)
	latest := c.Time
	for at := range p.versions(key, task.MaxTime) {
		latest = at
		break
	}
	return latest <= c.Time
}

// versions iterates over those of a key that were valid at t or before, newest first.
func (p *past[K, V]) versions(key []byte, t int64) func(yield func(at int64, v version[V]) bool) {
	return func(yield func(int64, version[V]) bool) {
		prefix := keys.AppendBytes(nil, key)
		for place, v := range p.store.Range(keys.AppendVersion(nil, key, t), keys.End(prefix)) {
			_, at, err := keys.CutVersion(nil, place)
			if err != nil {
				panic(task.Failure{Err: fmt.Errorf("stored version %q: %w", place, err)})
			}
			if !yield(at, v) {
				return
			}
		}
	}
}

// forget drops what no lookup within the history can need: all versions behind the one that was valid at its beginning.
func (p *past[K, V]) forget(key []byte) {
	var old []int64
	first := true
	for at := range p.versions(key, p.newest-p.life) {
		if first {
			first = false
			continue
		}
		old = append(old, at)
	}
	for _, at := range old {
		p.store.Delete(keys.AppendVersion(nil, key, at))
	}
}

// at is the asOf of the table.
func (p *past[K, V]) at(k K, t int64) (v V, at int64, ok bool) {
	key, err := p.rows.encode(k)
	if err != nil {
		return v, 0, false
	}
	for at, ver := range p.versions(key, t) {
		return ver.v, at, !ver.gone
	}
	return v, 0, false
}
