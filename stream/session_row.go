package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// A session is one of a key's sessions and its aggregate.
type session[R any] struct {
	span.Session
	r       R
	changes uint32 // how often it was changed: two with the same span and number are the same
	closed  bool   // it is final, and kept for queries, or until it is emitted
}

// A visit is what is stored per key: its sessions, in the order of time. There is rarely more than one.
type visit[R any] = []session[R]

// visitSerde encodes visits.
type visitSerde[R any] struct{ value serde.Serde[R] }

func (s visitSerde[R]) Append(dst []byte, list visit[R]) ([]byte, error) {
	out := binary.AppendUvarint(dst, uint64(len(list)))
	for i := range list {
		x := &list[i]
		out = binary.AppendVarint(out, x.Start)
		out = binary.AppendUvarint(out, uint64(x.End-x.Start))
		out = binary.AppendUvarint(out, uint64(x.Reach-x.Start))
		closed := uint64(0)
		if x.closed {
			closed = 1
		}
		out = binary.AppendUvarint(out, uint64(x.changes)<<1|closed)
		at := len(out)
		out = append(out, 0, 0, 0, 0)
		var err error
		if out, err = s.value.Append(out, x.r); err != nil {
			return dst, fmt.Errorf("session from %d: %w", x.Start, err)
		}
		binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out, nil
}

var errVisit = errors.New("stored sessions are cut short")

func (s visitSerde[R]) Decode(b []byte) (visit[R], error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) {
		return nil, errVisit
	}
	b = b[w:]
	list := make(visit[R], n)
	for i := range list {
		var err error
		if b, err = s.decode(b, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s visitSerde[R]) decode(b []byte, x *session[R]) (rest []byte, err error) {
	start, w := binary.Varint(b)
	if w <= 0 {
		return nil, errVisit
	}
	b = b[w:]
	var n [3]uint64
	for i := range n {
		if n[i], w = binary.Uvarint(b); w <= 0 {
			return nil, errVisit
		}
		b = b[w:]
	}
	x.Session = span.Session{Start: start, End: start + int64(n[0]), Reach: start + int64(n[1])}
	x.changes, x.closed = uint32(n[2]>>1), n[2]&1 != 0
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, errVisit
	}
	size := binary.BigEndian.Uint32(b)
	x.r, err = s.value.Decode(b[4 : 4+size])
	return b[4+size:], err
}

func (s visitSerde[R]) Format() string { return "sessions/1:" + s.value.Format() }

// cloner says how a visit is copied without encoding it, if it can be.
func (s visitSerde[R]) cloner() func(visit[R]) visit[R] {
	if serde.Plain[R]() {
		return slices.Clone[visit[R]]
	}
	var clone func(R) R
	if l, ok := s.value.(interface{ cloner() func(R) R }); ok {
		clone = l.cloner()
	}
	if clone == nil && serde.Clones[R]() {
		try := serde.Cloner(s.value)
		clone = func(r R) R {
			r, _ = try(r) // a Clone method does not fail
			return r
		}
	}
	if clone == nil {
		return nil
	}
	return func(list visit[R]) visit[R] {
		list = slices.Clone(list)
		for i := range list {
			list[i].r = clone(list[i].r)
		}
		return list
	}
}

// perSession turns changes of visits into changes of sessions: what is in the old one only was merged into another and is deleted, what
// is new or was changed is there.
func perSession[K, R any, WK window.KeyOf[K]](next recv[WK, table.Change[R]]) recv[K, table.Change[visit[R]]] {
	keyed := func(k K, x *session[R]) WK {
		return WK(window.Key[K]{Key: k, Span: window.SpanMillis(x.Start, x.End)})
	}
	return func(c *task.Context, k K, ch table.Change[visit[R]]) {
		t := c.Time
		for i := range ch.Old {
			old := &ch.Old[i]
			if find(ch.New, old) == nil {
				c.Time = mergedInto(ch.New, old)
				next(c, keyed(k, old), table.Change[R]{Old: old.r, HadOld: true})
			}
		}
		for i := range ch.New {
			x := &ch.New[i]
			out := table.Change[R]{New: x.r, HasNew: true}
			if old := find(ch.Old, x); old != nil {
				if old.changes == x.changes {
					continue
				}
				out.Old, out.HadOld = old.r, true
			}
			c.Time = x.End - 1
			next(c, keyed(k, x), out)
		}
		c.Time = t
	}
}

// find is the session with the same span.
func find[R any](list visit[R], x *session[R]) *session[R] {
	for i := range list {
		if list[i].Start == x.Start && list[i].End == x.End {
			return &list[i]
		}
	}
	return nil
}

// mergedInto is the time of the session that an old one has become a part of.
func mergedInto[R any](list visit[R], old *session[R]) int64 {
	for i := range list {
		if list[i].Start <= old.Start && old.End <= list[i].End {
			return list[i].End - 1
		}
	}
	return old.End - 1
}
