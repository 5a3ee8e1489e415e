package stream

import (
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// A joiner is a join of streams in one task. A record looks for matches on the other side, then waits on its own for those to come.
type joiner[K, V, V2, R any] struct {
	next    recv[K, R]
	f       func(v V, v2 V2, m Match) R
	key     serde.Serde[K]
	lefts   *buffer[V]
	rights  *buffer[V2]
	spec    span.Join
	alone   alonest
	ctx     *task.Context
	node    *task.Node
	reject  rejection
	guarded bool
	late    func(int64)
	noKey   func(int64)
	buf     []byte
	found   []place
}

// newJoiner makes that of the node being made.
func newJoiner[K, V, V2, R any](in *instance, spec span.Join, alone alonest, f func(v V, v2 V2, m Match) R) *joiner[K, V, V2, R] {
	s := bound[*joinSerdes[K, V, V2]](in)
	j := &joiner[K, V, V2, R]{next: outs[K, R](in), f: f, key: s.key, spec: spec, alone: alone, ctx: &in.task.Context, node: in.self(),
		lefts:  openBuffer(in, span.Left, s.key, s.left, spec, alone&leftAlone != 0),
		rights: openBuffer(in, span.Right, s.key, s.right, spec, alone&rightAlone != 0),
		reject: in.rejection(), guarded: !in.failing(),
		late:  in.env.Count("weir_late_total", "node", in.node.Name),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
	hooks := &j.node.Hooks
	hooks.Watermark = j.advance
	hooks.Start = j.start
	j.node.Delay(j.delay())
	looksAhead(in, near(j, span.Left, j.lefts, j.rights), near(j, span.Right, j.rights, j.lefts))
	return j
}

// delay is how far behind the watermark results may be: a record within grace is, and one that waited for a match in vain.
func (j *joiner[K, V, V2, R]) delay() int64 {
	d := int64(0)
	if j.alone&leftAlone != 0 {
		d = max(d, j.spec.After)
	}
	if j.alone&rightAlone != 0 {
		d = max(d, j.spec.Before)
	}
	return d + j.spec.Grace
}

// start goes on with what the last checkpoint has.
func (j *joiner[K, V, V2, R]) start() error {
	j.lefts.resume()
	j.rights.resume()
	j.ask()
	return nil
}

func (j *joiner[K, V, V2, R]) ask() { j.node.At(min(j.lefts.dueAt(), j.rights.dueAt())) }

// left takes a record of the left stream.
func (j *joiner[K, V, V2, R]) left(c *task.Context, k K, v V) {
	key, ok := j.enter(c, k, leftAlone)
	if !ok {
		if c.NoKey && j.alone&leftAlone != 0 {
			j.result(c, c.Time, k, v, *new(V2), LeftOnly)
		}
		return
	}
	j.found = j.rights.each(key, j.spec.Matches(span.Left, c.Time), j.found[:0])
	for _, at := range j.found {
		other, t := j.rights.record(key, at, j.rights.alone)
		j.result(c, max(t, c.Time), k, v, other, Both)
	}
	if span.Closed(j.spec.Close(span.Left, c.Time), j.node.In()) {
		if len(j.found) == 0 && j.lefts.alone {
			j.result(c, c.Time, k, v, *new(V2), LeftOnly)
		}
		return
	}
	keepFor(j, c, j.lefts, key, v)
}

// right is left for the right stream.
func (j *joiner[K, V, V2, R]) right(c *task.Context, k K, v V2) {
	key, ok := j.enter(c, k, rightAlone)
	if !ok {
		if c.NoKey && j.alone&rightAlone != 0 {
			j.result(c, c.Time, k, *new(V), v, RightOnly)
		}
		return
	}
	j.found = j.lefts.each(key, j.spec.Matches(span.Right, c.Time), j.found[:0])
	for _, at := range j.found {
		other, t := j.lefts.record(key, at, j.lefts.alone)
		j.result(c, max(t, c.Time), k, other, v, Both)
	}
	if span.Closed(j.spec.Close(span.Right, c.Time), j.node.In()) {
		if len(j.found) == 0 && j.rights.alone {
			j.result(c, c.Time, k, *new(V), v, RightOnly)
		}
		return
	}
	keepFor(j, c, j.rights, key, v)
}

// near is told of records of one side that come next: where they will wait, and where they will look for matches.
func near[K, V, V2, R, T, O any](j *joiner[K, V, V2, R], side span.Side, own *buffer[T], other *buffer[O]) ahead[K] {
	return func(ks []K, times []int64) {
		if !own.store.Far() && !other.store.Far() {
			return
		}
		for i, k := range ks {
			key, err := j.key.Append(j.buf[:0], k)
			if err != nil {
				continue
			}
			j.buf = key
			own.store.Ask(own.row(own.start(times[i]), 0, key))
			match := j.spec.Matches(side, times[i])
			first, last := other.start(match.Start), other.start(match.End-1)
			other.store.Ask(other.row(first, 0, key))
			if last != first {
				other.store.Ask(other.row(last, 0, key))
			}
		}
		own.store.Fetch()
		other.store.Fetch()
	}
}

// enter checks a record and encodes its key. Without a key it matches nothing, and is counted unless its side is emitted alone.
func (j *joiner[K, V, V2, R]) enter(c *task.Context, k K, side alonest) (key []byte, ok bool) {
	c.Fault = j.node
	if c.NoKey {
		if j.alone&side == 0 {
			j.noKey(1)
		}
		return nil, false
	}
	if j.spec.Late(c.Time, j.node.In()) {
		j.late(1)
		return nil, false
	}
	b, err := j.key.Append(j.buf[:0], k)
	if err != nil {
		j.reject(c, err, nil)
		return nil, false
	}
	j.buf = b
	return b, true
}

// keepFor lets the record at hand wait on its side.
func keepFor[K, V, V2, R, T any](j *joiner[K, V, V2, R], c *task.Context, b *buffer[T], key []byte, v T) {
	r := buffered[T]{t: c.Time, matched: len(j.found) > 0}
	if b.plain {
		r.v = v
	} else {
		raw, err := b.value.Append(nil, v)
		if err != nil {
			c.Fault = j.node
			j.reject(c, err, nil)
			return
		}
		r.raw = raw
	}
	due := b.dueAt()
	b.add(key, r)
	if at := b.dueAt(); at < due {
		j.node.At(at)
	}
}

// result emits one.
func (j *joiner[K, V, V2, R]) result(c *task.Context, t int64, k K, v V, v2 V2, m Match) {
	c.Fault = j.node
	var r R
	if !j.guarded {
		r = j.f(v, v2, m)
	} else if !try(c, j.node, j.reject, func() { r = j.f(v, v2, m) }) {
		return
	}
	before := c.Time
	c.Time = t
	j.next(c, k, r)
	c.Time = before
}

// advance emits what has no match and can have none any more, in the order in which that became certain; then right before left,
// then by key. What has served is dropped.
func (j *joiner[K, V, V2, R]) advance(w int64) {
	c := j.ctx
	alone(c)
	for {
		left, right := j.lefts.aloneAt(), j.rights.aloneAt()
		if min(left, right) > w || left == task.MaxTime && right == task.MaxTime {
			break
		}
		if right <= left {
			if key, v, t, ok := j.rights.firstAlone(min(w, left)); ok {
				c.Time = t
				j.result(c, t, j.decode(key), *new(V), v, RightOnly)
			}
			continue
		}
		if key, v, t, ok := j.lefts.firstAlone(min(w, right-1)); ok {
			c.Time = t
			j.result(c, t, j.decode(key), v, *new(V2), LeftOnly)
		}
	}
	j.lefts.drop(w)
	j.rights.drop(w)
	j.ask()
}

func (j *joiner[K, V, V2, R]) decode(key []byte) K {
	k, err := j.key.Decode(key)
	if err != nil {
		panic(task.Failure{Err: err})
	}
	return k
}
