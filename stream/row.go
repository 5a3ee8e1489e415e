package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// A row is what a table keeps per key: the value and the time of its latest update.
type row[V any] struct {
	v V
	t int64
}

// A rowSerde encodes rows: eight bytes of time, then the value.
type rowSerde[V any] struct{ value serde.Serde[V] }

func (s rowSerde[V]) Append(dst []byte, r row[V]) ([]byte, error) {
	return s.value.Append(binary.BigEndian.AppendUint64(dst, uint64(r.t)), r.v)
}

func (s rowSerde[V]) Decode(b []byte) (r row[V], err error) {
	if len(b) < 8 {
		return r, errors.New("a row has less than its time")
	}
	r.t = int64(binary.BigEndian.Uint64(b))
	r.v, err = s.value.Decode(b[8:])
	return r, err
}

// rowFormat is before the value's format in that of a row.
const rowFormat = "row/1:"

func (s rowSerde[V]) Format() string { return rowFormat + s.value.Format() }

// Accepts passes the question on to the value's serde: rows themselves have had one form.
func (s rowSerde[V]) Accepts(stored string) error { return acceptsBehind(rowFormat, s.value, stored) }

// acceptsBehind asks a value's serde about the format that is stored behind a prefix.
func acceptsBehind[V any](prefix string, value serde.Serde[V], stored string) error {
	format, ok := strings.CutPrefix(stored, prefix)
	if !ok {
		return fmt.Errorf("%w: %q is no format of a table's rows, which begin with %q", serde.ErrIncompatible, stored, prefix)
	}
	return serde.Accepts(value, format)
}

// rowSerdes are those of a table with a store, bound.
type rowSerdes[K, V any] struct {
	key   serde.Serde[K]
	value serde.Serde[V]
}

// bindRows binds the serdes of a table's store.
func bindRows[K, V any](key serde.Serde[K], value serde.Serde[V]) func(*binding) (any, error) {
	return func(b *binding) (any, error) {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		v, err := bindInternal(b, value, false)
		return &rowSerdes[K, V]{k, v}, err
	}
}

// rowStoreSpec declares the store of a table to the engine.
func rowStoreSpec(name string) storeSpec { return storeSpec{name: name, changelog: true} }

// rowStores are the stores of a table whose rows are emitted as e says.
func rowStores(name string, e emission) []storeSpec {
	stores := []storeSpec{rowStoreSpec(name)}
	if e.when == everyPeriod {
		stores = append(stores, rowStoreSpec(pendingStore(name)))
	}
	return stores
}

func namesOf(stores []storeSpec) (names []string) {
	for _, s := range stores {
		names = append(names, s.name)
	}
	return names
}

// rows is a table's store in one task.
type rows[K, V any] struct {
	store *overlay.Store[row[V]]
	key   serde.Serde[K]
	buf   []byte
}

// rowsOf opens the store of a node, once per task.
func rowsOf[K, V any](in *instance, n *topology.Node) *rows[K, V] {
	if r, ok := in.stores[n]; ok {
		return r.(*rows[K, V])
	}
	s := in.results[n].(*rowSerdes[K, V])
	r := &rows[K, V]{key: s.key, store: openStore(in, "table", n.Stores[0], s.key, rowSerde[V]{s.value}, serde.Plain[V](), cloneRow(s.value),
		(needsOld(n) || specOf(n).keepsOld) && atCheckpoints(specOf(n).opts.emit))}
	if specOf(n).byTime {
		r.store.Grouped(timeBytes)
	}
	in.stores[n] = r
	return r
}

// atCheckpoints reports whether what an operator has changed is emitted at checkpoints: then its store keeps the values before.
func atCheckpoints(e emission) bool { return e.when == byDefault || e.when == onCheckpoint }

// cloneRow copies rows whose value has a Clone of its own; nil: they are copied through their encoded form.
func cloneRow[V any](s serde.Serde[V]) func(row[V]) row[V] {
	if l, ok := s.(interface{ cloner() func(V) V }); ok && l.cloner() != nil {
		clone := l.cloner()
		return func(r row[V]) row[V] { return row[V]{clone(r.v), r.t} }
	}
	if !serde.Clones[V]() {
		return nil
	}
	clone := serde.Cloner(s)
	return func(r row[V]) row[V] {
		r.v, _ = clone(r.v) // a Clone method does not fail
		return r
	}
}

// openStore opens a store of the task being made, and compares the formats it was written in with those of the serdes. The engine
// freezes stores in the order in which they are declared, whatever the order in which they are opened.
func openStore[K, V any](in *instance, kind, name string, key serde.Serde[K], s serde.Serde[V], plain bool, clone func(V) V, keepOld bool) *overlay.Store[V] {
	if !in.reading {
		in.failed(in.checkFormat(kind, name, key, s))
	}
	st := overlay.New(overlay.Config[V]{
		Name: name, DB: in.env.DB, Prefix: in.env.Prefix(name), Serde: s, Plain: plain, Clone: clone, KeepOld: keepOld,
		LimitBytes: int(in.env.StateBytes), Changes: &in.task.Context.Effects,
	})
	in.opened[name] = st
	return st
}

// A formatter is any serde.
type formatter interface{ Format() string }

// checkFormat compares and, where the store is new or was written by an older serde that this one reads, notes the format.
func (in *instance) checkFormat(kind, name string, key, value formatter) error {
	at := in.env.FormatKey(name)
	record, err := state.CheckStore(in.env.DB, at, name, kind, key, value)
	if err != nil || record == nil {
		return err
	}
	var batch state.Batch
	batch.Put(at, record)
	return in.env.DB.Apply(&batch, false)
}

// timeBytes is the length of a time at the beginning of a key.
const timeBytes = 8

// encode is the key's bytes, valid until the next call.
func (r *rows[K, V]) encode(k K) ([]byte, error) {
	b, err := r.key.Append(r.buf[:0], k)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	r.buf = b
	return b, nil
}

// decode is the key of a stored row: an error means that the store is not what it should be.
func (r *rows[K, V]) decode(key []byte) K {
	k, err := r.key.Decode(key)
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("stored key %q: %w", key, err)})
	}
	return k
}

// set makes v what a key's records have come to: the time is the latest of theirs, of which old has one where it is had.
func (r *rows[K, V]) set(c *task.Context, e *overlay.Entry[row[V]], v V, old row[V], had bool) {
	t := c.Time
	if had {
		t = max(t, old.t)
	}
	r.store.Set(e, row[V]{v, t})
}

// get is the row of a key, which remains the store's: it is looked at and not changed.
func (r *rows[K, V]) get(k K) (v V, t int64, ok bool) {
	b, err := r.encode(k)
	if err != nil {
		return v, 0, false // a key that cannot be encoded is in no store
	}
	rw, ok := r.store.Lookup(b)
	return rw.v, rw.t, ok
}
