package stream

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// Deduplicate drops a record when one with the same key and the same id came at most within before it, in event time; the dropped
// ones count too, so an id that keeps coming is seen once. A record that is older than the one before it and at most within apart is
// a repeat as well. Only records of one key are compared: group by the id first where keys differ.
func (s *Stream[K, V]) Deduplicate[ID any](id func(k K, v V) ID, within time.Duration, opts ...Option) *Stream[K, V] {
	o := plainOptions(opts)
	if o.name == "" {
		o.name = base(s.node) + "-deduplicate"
	}
	if within < time.Millisecond {
		s.b.problem(o.line, fmt.Errorf("Deduplicate within %v: at least a millisecond", within))
	}
	s = partitioned(s, o.name, o)
	seen, index := o.name, o.name+"-index"
	op := &operator{stores: []storeSpec{{name: seen, changelog: true}, {name: index, changelog: true}}}
	op.bind = bindRows[K, ID](s.key, nil)
	op.make = func(in *instance) any {
		b := bound[*rowSerdes[K, ID]](in)
		d := &deduplicator[K, V, ID]{serdes: b, id: id, within: within.Milliseconds(), next: outs[K, V](in), node: in.self(), reject: in.rejection(), guarded: !in.failing(),
			seen:    openStore(in, "deduplicate", seen, serde.Bytes, serde.Int64, true, nil, false),
			index:   openStore(in, "deduplicate-index", index, serde.Bytes, serde.Unit, true, nil, false),
			noKey:   in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key"),
			repeats: in.env.Count("weir_deduplicated_total", "node", in.node.Name)}
		d.step = max(1, d.within/ttlSteps)
		d.node.Hooks.Watermark, d.node.Hooks.Start = d.expire, d.start
		return d.receive
	}
	n := s.b.add("deduplicate", o, op, at(s.node))
	n.Stores = []string{seen, index}
	c := *s
	c.node = n
	return &c
}

// A deduplicator remembers, per key and id, when it came last. An index by time, exact to step, finds what may be forgotten.
type deduplicator[K, V, ID any] struct {
	serdes  *rowSerdes[K, ID]
	id      func(k K, v V) ID
	within  int64
	step    int64
	next    recv[K, V]
	node    *task.Node
	reject  rejection
	guarded bool
	seen    *overlay.Store[int64]
	index   *overlay.Store[struct{}]
	noKey   func(int64)
	repeats func(int64)
	buf     []byte
	place   []byte
}

func (d *deduplicator[K, V, ID]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		d.noKey(1)
		return
	}
	var id ID
	if !attempt(c, d.node, d.reject, d.guarded, func() error { id = d.id(k, v); return nil }) {
		return
	}
	row, err := d.row(k, id)
	if err != nil {
		d.reject(c, err, nil)
		return
	}
	e := d.seen.Entry(row)
	last, had := e.Get()
	repeat := had && max(c.Time-last, last-c.Time) <= d.within
	if t := max(c.Time, last); !had || t > last {
		d.seen.Set(e, t)
		if !had || t/d.step != last/d.step {
			d.place = keys.AppendByTime(d.place[:0], t-t%d.step, row)
			d.index.Put(d.place, struct{}{})
			d.node.At(t - t%d.step + d.step + d.within)
		}
	}
	if repeat {
		d.repeats(1)
		return
	}
	d.next(c, k, v)
}

// row is the place of a key and an id.
func (d *deduplicator[K, V, ID]) row(k K, id ID) ([]byte, error) {
	key, err := d.serdes.key.Append(d.place[:0], k)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	d.place = key
	d.buf = keys.AppendBytes(d.buf[:0], key)
	if d.buf, err = d.serdes.value.Append(d.buf, id); err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	return d.buf, nil
}

// expire forgets what no record that is on time can repeat.
func (d *deduplicator[K, V, ID]) expire(w int64) {
	limit := w - d.within
	if limit > w {
		limit = task.MinTime
	}
	var due [][]byte
	for k := range d.index.Range(nil, keys.AppendTime(nil, limit-d.step+1)) {
		due = append(due, append([]byte(nil), k...))
	}
	for _, place := range due {
		if _, row, err := keys.CutByTime(place); err == nil {
			if e := d.seen.Entry(row); e.Found() && e.Value < limit {
				d.seen.Remove(e)
			}
		}
		d.index.Delete(place)
	}
	d.arm()
}

// arm asks to be called when the oldest place in the index may be forgotten.
func (d *deduplicator[K, V, ID]) arm() {
	for k := range d.index.Range(nil, nil) {
		if t, _, err := keys.CutByTime(k); err == nil {
			d.node.At(t + d.step + d.within)
		}
		return
	}
}

func (d *deduplicator[K, V, ID]) start() error {
	d.arm()
	return nil
}
