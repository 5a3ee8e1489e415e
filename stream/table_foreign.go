package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// JoinOn joins on a foreign key; false from fk is no match. Tables need not be co-partitioned.
func (t *Table[K, V]) JoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2) R, opts ...TableOption) *Table[K, R] {
	return joinOn(t, o, false, fk, func(v V, v2 V2, _ bool) R { return f(v, v2) }, tableOptions(opts))
}

// LeftJoinOn keeps rows without a match.
func (t *Table[K, V]) LeftJoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2, ok bool) R, opts ...TableOption) *Table[K, R] {
	return joinOn(t, o, true, fk, f, tableOptions(opts))
}

// joinOn makes the four parts of a foreign-key join, each behind an exchange of its own, so that there is no cycle whatever t and o
// have in common:
//
//	t ── what a row says of its key ──▶ subscriptions ◀── rows of o ── o
//	└──── rows without a key ─────────▶ results ◀── answers ──┘
//
// Answers and direct results of one row come from different tasks and may overtake each other. So each change of a left row has a
// version, which rises, and results takes nothing that is older than what it has heard: see heard.
func joinOn[K, V, FK, V2, R any](t *Table[K, V], o *Table[FK, V2], left bool, fk func(k K, v V) (FK, bool), f func(v V, v2 V2, ok bool) R, s settings) *Table[K, R] {
	name := s.name
	if name == "" {
		name = t.node.Name + "-join-on-" + o.node.Name
	}
	j := &foreignJoin[K, V, FK, V2, R]{name: name, left: left, fk: fk, f: f, key: t.key, value: t.value, foreign: o.key, other: o.value}
	sent := s
	sent.name = name + "-sent"
	op := &operator{needsOld: true, stores: []storeSpec{{name: sent.name, changelog: true}}, make: j.makeSender, bind: j.bind}
	sender := t.b.add("foreign-key", sent, op, at(t.node))
	sender.Stores = []string{sent.name}

	subscriptions := foreignOut[FK](t.b, sender, "subscribe", s)
	direct := foreignOut[K](t.b, sender, "direct", s)
	rows := foreignOut[FK](t.b, o.node, "rows", s)
	toSub := exchange(t.b, subscriptions, name+"-subscribe", s, j.foreign, j.bindSubscription)
	toRows := exchange(t.b, rows, name+"-rows", s, j.foreign, bindChange(j.other))
	toDirect := exchange(t.b, direct, name+"-direct", s, j.key, j.bindAnswer)

	matching := s
	matching.name = name + "-subscriptions"
	mop := &operator{bind: j.bind, make: j.makeMatcher, stores: []storeSpec{{name: matching.name, changelog: true}, {name: name + "-right", changelog: true}}}
	matcher := t.b.add("subscriptions", matching, mop, at(toSub), topology.Edge{Node: toRows, Port: 1})
	matcher.Stores = []string{matching.name, name + "-right"}
	answers := exchange(t.b, matcher, name+"-answers", s, j.key, j.bindAnswer)

	result := stored(t.b, "join-on", name, s, t.key, nil, j.makeResults, at(toDirect), topology.Edge{Node: answers, Port: 1})
	rop := specOf(result.node)
	rop.stores = append(rop.stores, storeSpec{name: name + "-versions", changelog: true})
	result.node.Stores = append(result.node.Stores, name+"-versions")
	reserde := rop.reserde
	rop.reserde = func(k, v any) {
		reserde(k, v)
		if r, ok := v.(serde.Serde[R]); ok && r != nil {
			j.result = r
		}
	}
	return result
}

// foreignOut is one of the ways out of a node: the sender has two.
func foreignOut[K any](b *Builder, parent *topology.Node, name string, s settings) *topology.Node {
	o := settings{line: s.line}
	return b.add(topology.Kind(name), o, &operator{output: name, make: func(in *instance) any {
		return in.receiver(in.node.Children()[0])
	}}, at(parent))
}

// A foreignJoin is what its parts share.
type foreignJoin[K, V, FK, V2, R any] struct {
	name    string
	left    bool
	fk      func(k K, v V) (FK, bool)
	f       func(v V, v2 V2, ok bool) R
	key     serde.Serde[K]
	value   serde.Serde[V]
	foreign serde.Serde[FK]
	other   serde.Serde[V2]
	result  serde.Serde[R]
}

// foreignSerdes are its serdes, bound.
type foreignSerdes[K, V, FK, V2 any] struct {
	key     serde.Serde[K]
	value   serde.Serde[V]
	foreign serde.Serde[FK]
	other   serde.Serde[V2]
}

func (j *foreignJoin[K, V, FK, V2, R]) bind(b *binding) (any, error) {
	var s foreignSerdes[K, V, FK, V2]
	var err error
	if s.key, err = bindInternal(b, j.key, true); err != nil {
		return nil, err
	}
	if s.value, err = bindInternal(b, j.value, false); err != nil {
		return nil, err
	}
	if s.foreign, err = bindInternal(b, j.foreign, true); err != nil {
		return nil, fmt.Errorf("foreign %w", err)
	}
	s.other, err = bindInternal(b, j.other, false)
	return &s, err
}

func (j *foreignJoin[K, V, FK, V2, R]) bindSubscription(b *binding) (serde.Serde[subscription[K, V]], error) {
	k, err := bindInternal(b, j.key, true)
	if err != nil {
		return nil, err
	}
	v, err := bindInternal(b, j.value, false)
	return subscriptionSerde[K, V]{k, v}, err
}

func (j *foreignJoin[K, V, FK, V2, R]) bindAnswer(b *binding) (serde.Serde[answer[R]], error) {
	r, err := bindInternal(b, j.result, false)
	return answerSerde[R]{r}, err
}

// makeSender follows the left table: it tells the task of a row's foreign key, and that of the one before, what the row says.
func (j *foreignJoin[K, V, FK, V2, R]) makeSender(in *instance) any {
	versions := openStore(in, "foreign-key", in.node.Stores[0], serde.Bytes, serde.Int64, true, nil, false)
	var subscribe recv[FK, subscription[K, V]]
	var direct recv[K, answer[R]]
	for _, e := range in.node.Children() {
		switch r := in.receiver(e).(type) {
		case recv[FK, subscription[K, V]]:
			if specOf(e.Node).output == "subscribe" {
				subscribe = r
			}
		case recv[K, answer[R]]:
			direct = r
		}
	}
	s := bound[*foreignSerdes[K, V, FK, V2]](in)
	g := in.guard()
	var buf, buf2 []byte
	return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
		if !ch.HadOld && !ch.HasNew {
			return
		}
		var from, to FK
		var had, has bool
		var alone answer[R]
		if ch.HadOld {
			had = g.old(c, func() { from, had = foreignKey(j.fk, s.foreign, &buf, k, ch.Old) }) && had
		}
		if ch.HasNew {
			alone.has = g.new(c, func() {
				if to, has = foreignKey(j.fk, s.foreign, &buf2, k, ch.New); !has && j.left {
					alone.r = j.f(ch.New, *new(V2), false)
				}
			}) && !has && j.left
		}
		e := versions.Entry(nil)
		version := e.Value + 1
		versions.Set(e, version)
		moved := had && !(has && string(buf) == string(buf2)) // else the subscription is replaced
		if moved {
			keyed(c, subscribe, from, subscription[K, V]{k: k, version: version, gone: true})
		}
		if has {
			keyed(c, subscribe, to, subscription[K, V]{k: k, v: ch.New, version: version, moved: moved})
			return
		}
		alone.version, alone.moved = version, moved
		direct(c, k, alone)
	})
}

// foreignKey is that of a row, if it has one; buf becomes its bytes. A key that cannot be encoded is rejected here, before anything is said of
// the row: in the exchange it would be too late.
func foreignKey[K, V, FK any](of func(k K, v V) (FK, bool), s serde.Serde[FK], buf *[]byte, k K, v V) (fk FK, ok bool) {
	if fk, ok = of(k, v); !ok {
		return fk, false
	}
	b, err := s.Append((*buf)[:0], fk)
	if err != nil {
		Reject(fmt.Errorf("foreign key: %w", err))
	}
	*buf = b
	return fk, true
}

// makeMatcher keeps subscriptions and the rows of the right table, by foreign key.
func (j *foreignJoin[K, V, FK, V2, R]) makeMatcher(in *instance) any {
	s := bound[*foreignSerdes[K, V, FK, V2]](in)
	m := &matcher[K, V, FK, V2, R]{j: j, s: s, next: outs[K, answer[R]](in), node: in.self(), reject: in.rejection(), call: in.guard(),
		subs: openStore(in, "subscriptions", in.node.Stores[0], serde.Bytes, subscriptionSerde[K, V]{s.key, s.value}, false, nil, false),
		rows: openStore(in, "table", in.node.Stores[1], s.foreign, rowSerde[V2]{s.other}, serde.Plain[V2](), cloneRow(s.other), false)}
	looksAhead(in, nearIn[FK](s.foreign, m.rows))
	return []any{recv[FK, subscription[K, V]](m.subscribe), recv[FK, table.Change[V2]](m.changed)}
}

// A matcher answers for one partition of foreign keys.
type matcher[K, V, FK, V2, R any] struct {
	j      *foreignJoin[K, V, FK, V2, R]
	s      *foreignSerdes[K, V, FK, V2]
	next   recv[K, answer[R]]
	node   *task.Node
	reject rejection
	call   *guard
	subs   *overlay.Store[subscription[K, V]]
	rows   *overlay.Store[row[V2]]
	fk     []byte
	place  []byte
}

// encode is the foreign key's bytes and the prefix of its subscriptions; false when it was rejected.
func (m *matcher[K, V, FK, V2, R]) encode(c *task.Context, fk FK) bool {
	c.Fault = m.node
	b, err := m.s.foreign.Append(m.fk[:0], fk)
	if err != nil {
		m.reject(c, fmt.Errorf("foreign key: %w", err), nil)
		return false
	}
	m.fk = b
	m.place = keys.AppendBytes(m.place[:0], b)
	return true
}

// subscribe takes what a left row says of its foreign key. The answer's time is the later one of both rows'. One that is gone is answered, too:
// behind that nothing comes of it.
func (m *matcher[K, V, FK, V2, R]) subscribe(c *task.Context, fk FK, sub subscription[K, V]) {
	if !m.encode(c, fk) {
		return
	}
	place, err := m.s.key.Append(m.place, sub.k)
	if err != nil {
		m.reject(c, fmt.Errorf("key: %w", err), nil)
		return
	}
	m.place = place
	if sub.gone {
		m.subs.Delete(place)
		keyed(c, m.next, sub.k, answer[R]{version: sub.version, released: true})
		return
	}
	moved := sub.moved
	sub.moved = false
	m.subs.Put(place, sub)
	r, ok := m.rows.Lookup(m.fk)
	m.answer(c, sub, moved, r.v, ok, later(c.Time, r.t, ok))
}

// changed takes a change of a right row: everybody who subscribed to it gets an answer, with the time of the change.
func (m *matcher[K, V, FK, V2, R]) changed(c *task.Context, fk FK, ch table.Change[V2]) {
	if !m.encode(c, fk) {
		return
	}
	if ch.HasNew {
		m.rows.Put(m.fk, row[V2]{ch.New, c.Time})
	} else {
		m.rows.Delete(m.fk)
	}
	var subs []subscription[K, V]
	for _, sub := range m.subs.Prefix(append([]byte(nil), m.place...)) {
		subs = append(subs, sub)
	}
	for _, sub := range subs {
		m.answer(c, sub, false, ch.New, ch.HasNew, c.Time)
	}
}

// answer sends what a subscriber's row is now.
func (m *matcher[K, V, FK, V2, R]) answer(c *task.Context, sub subscription[K, V], moved bool, v2 V2, ok bool, t int64) {
	a := answer[R]{version: sub.version, moved: moved, has: ok || m.j.left}
	a.has = a.has && m.call.new(c, func() { a.r = m.j.f(sub.v, v2, ok) })
	saved := c.Time
	c.Time = t
	keyed(c, m.next, sub.k, a)
	c.Time = saved
}

// makeResults keeps the joined rows. Port 0 has the rows without a foreign key, port 1 the answers.
func (j *foreignJoin[K, V, FK, V2, R]) makeResults(in *instance, r *rows[K, R], e *emitter[K, R]) any {
	versions := openStore(in, "versions", j.name+"-versions", serde.Bytes, heardSerde{}, true, nil, false)
	up := &upserter[K, R]{rows: r, emit: e, node: in.self(), reject: in.rejection(),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
	looksAhead(in, nearIn[K](r.key, versions, r.store))
	stale := in.env.Count("weir_stale_answers_total", "node", in.node.Name)
	from := func(alone bool) recv[K, answer[R]] {
		return func(c *task.Context, k K, a answer[R]) {
			key, err := r.encode(k)
			if err != nil {
				c.Fault = up.node
				up.reject(c, err, nil)
				return
			}
			entry := versions.Entry(key)
			before, known := entry.Get()
			now := before
			old := now.hear(a.version, a.moved, a.released, alone)
			switch {
			case now.settled():
				if known {
					versions.Remove(entry)
				}
			case now != before:
				versions.Set(entry, now)
			}
			switch {
			case !old:
				up.apply(c, k, a.r, a.has, c.Time)
			case !a.released:
				stale(1)
			}
		}
	}
	return []any{from(true), from(false)}
}
