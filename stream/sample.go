package stream

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// Sample keeps the latest record per key in each period of event time, and emits it when the period is over. Periods are aligned to
// the Unix epoch. A record of a period that is over is late: dropped and counted. Headers are not kept.
func (s *Stream[K, V]) Sample[S SliceOf[V]](every time.Duration, opts ...Option) *Stream[K, V] {
	o := plainOptions(opts)
	if o.name == "" {
		o.name = base(s.node) + "-sample"
	}
	if every < time.Millisecond {
		s.b.problem(o.line, fmt.Errorf("Sample every %v: at least a millisecond", every))
	}
	s = partitioned(s, o.name, o)
	name := o.name
	op := &operator{stores: []storeSpec{{name: name, changelog: true}}, bind: bindRows(s.key, s.value)}
	op.make = func(in *instance) any {
		b := bound[*rowSerdes[K, V]](in)
		p := &sampler[K, V]{key: b.key, every: every.Milliseconds(), next: outs[K, V](in), node: in.self(), reject: in.rejection(),
			store: openStore(in, "sample", name, serde.Bytes, rowSerde[V]{b.value}, serde.Plain[V](), cloneRow(b.value), false),
			noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key"),
			late:  in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "late")}
		p.node.Hooks.Watermark, p.node.Hooks.Start = p.due, p.start
		return p.receive
	}
	n := s.b.add("sample", o, op, at(s.node))
	n.Stores = []string{name}
	c := *s
	c.node = n
	return &c
}

// A sampler keeps the latest record of each key and period, found by the end of the period.
type sampler[K, V any] struct {
	key    serde.Serde[K]
	every  int64
	next   recv[K, V]
	node   *task.Node
	reject rejection
	store  *overlay.Store[row[V]]
	noKey  func(int64)
	late   func(int64)
	first  int64 // end of the earliest open period
	buf    []byte
	place  []byte
}

func (p *sampler[K, V]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		p.noKey(1)
		return
	}
	start := c.Time - ((c.Time%p.every)+p.every)%p.every
	end := start + p.every
	if end <= p.node.In() {
		p.late(1)
		return
	}
	var err error
	if p.buf, err = p.key.Append(p.buf[:0], k); err != nil {
		c.Fault = p.node
		p.reject(c, fmt.Errorf("key: %w", err), nil)
		return
	}
	p.place = keys.AppendByTime(p.place[:0], end, p.buf)
	e := p.store.Entry(p.place)
	if old, had := e.Get(); had && old.t > c.Time {
		return // of two with the same time the one that came later is the latest
	}
	p.store.Set(e, row[V]{v, c.Time})
	p.open(end)
}

// open notes an open period.
func (p *sampler[K, V]) open(end int64) {
	if end < p.first {
		p.first = end
		p.node.At(end)
		p.node.Hold(end - p.every)
	}
}

// due emits the samples of the periods that are over.
func (p *sampler[K, V]) due(w int64) {
	var ends [][]byte
	for k := range p.store.Range(nil, keys.AppendTime(nil, min(w, task.MaxTime-1)+1)) {
		ends = append(ends, append([]byte(nil), k...))
	}
	c := &p.node.Task().Context
	for _, place := range ends {
		_, key, err := keys.CutByTime(place)
		if err != nil {
			panic(task.Failure{Err: fmt.Errorf("stored sample %q: %w", place, err)})
		}
		e := p.store.Entry(place)
		r := p.store.Give(e)
		p.store.Remove(e)
		saved := *c
		c.Time, c.Headers, c.Origin, c.NoKey, c.Raw = r.t, nil, connector.Origin{}, false, nil
		p.next(c, decodeStored(p.key, key), r.v)
		*c = saved
	}
	p.arm()
}

// arm asks for the end of the earliest open period, and holds the output watermark at its start.
func (p *sampler[K, V]) arm() {
	p.first = task.MaxTime
	p.node.Hold(task.MaxTime)
	for k := range p.store.Range(nil, nil) {
		if end, _, err := keys.CutByTime(k); err == nil {
			p.open(end)
		}
		return
	}
}

func (p *sampler[K, V]) start() error {
	p.arm()
	return nil
}
