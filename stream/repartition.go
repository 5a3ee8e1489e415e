package stream

import (
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// Repartition sends the stream through an internal topic.
func (s *Stream[K, V]) Repartition[S SliceOf[V]](opts ...RepartitionOption) *Stream[K, V] {
	o := repartitionOptions(opts)
	name := o.name
	if name == "" {
		name = base(s.node)
	}
	return repartition(s, name, o)
}

// partitioned is s with its records where their keys belong: s itself unless the key was changed. name is that of the operator
// which needs it.
func partitioned[K, V any](s *Stream[K, V], name string, o settings) *Stream[K, V] {
	if !s.rekeyed {
		return s
	}
	return repartition(s, name, o)
}

// An exchangeSpec is the pair of nodes of a repartition.
type exchangeSpec struct {
	name       string
	partitions int
}

// coPartitioned finds repartitions that lead to the same tasks, and were told different counts of partitions. Those of topics are only known
// when the app starts, and compared then.
func (b *Builder) coPartitioned() (problems []error) {
	for _, sub := range b.graph.Subs {
		var first *topology.Node
		for _, n := range sub.Ins() {
			x := specOf(n).exchange
			switch {
			case x == nil || x.partitions <= 0:
			case first == nil:
				first = n
			case x.partitions != specOf(first).exchange.partitions:
				problems = append(problems, fmt.Errorf("%s: %w: what comes from %s (%s) with Partitions(%d) meets what comes from %s (%s) with Partitions(%d): give both the same count",
					n.Line, ErrCoPartition, first.Name, first.Line, specOf(first).exchange.partitions, n.Name, n.Line, x.partitions))
			}
		}
	}
	return problems
}

// exchangeSerdes are those of a repartition, bound.
type exchangeSerdes[K, V any] struct {
	key   serde.Serde[K]
	value serde.Serde[V]
}

// repartition makes the two ends. Their name is name-repartition.
func repartition[K, V any](s *Stream[K, V], name string, o settings) *Stream[K, V] {
	c := *s
	c.node, c.rekeyed = exchange(s.b, s.node, name, o, s.key, func(b *binding) (serde.Serde[V], error) { return bindInternal(b, s.value, false) }), false
	return &c
}

// exchange makes the two ends of a repartition behind a node, and returns the receiving one.
func exchange[K, V any](b *Builder, parent *topology.Node, name string, o settings, key serde.Serde[K], value func(*binding) (serde.Serde[V], error)) *topology.Node {
	if o.partitions < 0 {
		b.problem(o.line, fmt.Errorf("repartition %s: Partitions(%d) is negative", name, o.partitions))
	}
	spec := &exchangeSpec{name: name + "-repartition", partitions: o.partitions}
	bind := func(b *binding) (any, error) {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		v, err := value(b)
		return &exchangeSerdes[K, V]{k, v}, err
	}
	oOut, oIn := o, o
	oOut.name, oIn.name = spec.name+"-out", spec.name
	out := b.add(topology.ExchangeOut, oOut, &operator{exchange: spec, bind: bind, make: func(in *instance) any {
		return makeOut[K, V](in, spec)
	}}, at(parent))
	in := b.add(topology.ExchangeIn, oIn, &operator{exchange: spec, bind: bind, make: func(in *instance) any {
		makeIn[K, V](in, spec)
		return nil
	}})
	out.Peer, in.Peer = in, out
	out.Detail = spec.name
	return in
}

// makeOut is the sending end in one task.
func makeOut[K, V any](in *instance, spec *exchangeSpec) recv[K, V] {
	s := bound[*exchangeSerdes[K, V]](in)
	if topic := in.env.Topic(spec.name); topic != "" {
		return makeRemoteOut(in, spec, s, topic)
	}
	o := &localOut[K, V]{in: in, name: spec.name, node: in.self(), key: s.key, reject: in.rejection(), from: in.task.Partition,
		pending: make([][]item[K, V], in.env.Targets(spec.name)), sent: task.NewMark(), size: 64, patience: patience(in.node)}
	in.task.Outs = append(in.task.Outs, o)
	return o.receive
}

func makeRemoteOut[K, V any](in *instance, spec *exchangeSpec, s *exchangeSerdes[K, V], topic string) recv[K, V] {
	to := in.env.Appender
	if in.env.SinkAppender != nil {
		to = in.env.SinkAppender
	}
	targets := in.env.Targets(spec.name)
	o := &remoteOut[K, V]{in: in, name: spec.name, node: in.self(), serdes: s, reject: in.rejection(), from: in.task.Partition,
		sent: task.NewMark(), interval: in.config.WatermarkInterval.Milliseconds(), idle: make([]bool, targets),
		told: slices.Repeat([]int64{task.MinTime}, targets), patience: patience(in.node)}
	var err error
	if o.out, err = to.To(in.env.Context, topic); err != nil {
		in.failed(fmt.Errorf("repartition %s: %w", spec.name, err))
	}
	in.task.Outs = append(in.task.Outs, o)
	return o.receive
}

// makeIn is the receiving end in one task.
func makeIn[K, V any](in *instance, spec *exchangeSpec) {
	if in.env.Topic(spec.name) != "" {
		r := newRemoteIn[K, V](in, spec.name, in.env.Senders(spec.name))
		in.task.AddInput(in.self(), r)
		r.next = outs[K, V](in)
		r.near.ahead = aheadOf[K](in, in.node)
		return
	}
	l := newLocalIn[K, V](in, spec.name, in.env.Senders(spec.name))
	in.task.AddInput(in.self(), l)
	l.next = outs[K, V](in)
	l.near = lookout[K]{ahead: aheadOf[K](in, in.node)}
}
