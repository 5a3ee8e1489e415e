package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

// A sourceSpec is what the engine needs of a source, without its types.
type sourceSpec struct {
	name       string
	partitions func(ctx context.Context, env connector.Env) (int, error)
	open       func(ctx context.Context, env connector.Env, partition int, from connector.Position) (task.Reader, error)
	positions  wire.Positions
	topics     func(ctx context.Context, env connector.Env) (map[string]wire.Topic, error) // nil: it reads none
	global     engine.Rows                                                                 // of a global table
	source     any                                                                         // the connector
	replace    func(src any) error                                                         // by streamtest: reads from another connector of the same types
	env        func(connector.Env) connector.Env                                           // by streamtest; nil: as it is
	bind       func(b *binding) (*sourceSpec, error)
}

// serdes is implemented by sources and sinks that know how their records are encoded: what is derived from them is stored the
// same way.
type serdes[K, V any] interface {
	Serdes() (serde.Serde[K], serde.Serde[V])
}

// Source reads a stream. A null value is dropped and counted unless the value serde is serde.Optional.
func (b *Builder) Source[K, V any](src connector.Source[K, V], opts ...SourceOption) *Stream[K, V] {
	o := collect(opts, func(o SourceOption, s *settings) { o.source(s) })
	s := &Stream[K, V]{b: b}
	s.node = addSource(b, src, o, false, func(in *instance, loop *input[K, V]) { loop.next = outs[K, V](in) })
	s.key, s.value = serdesOf(src)
	return s
}

// serdesOf asks a source for its serdes.
func serdesOf[K, V any](src connector.Source[K, V]) (serde.Serde[K], serde.Serde[V]) {
	if s, ok := src.(serdes[K, V]); ok {
		return s.Serdes()
	}
	return nil, nil
}

// addSource makes the node of a source; connect ties its input loop to what follows.
func addSource[K, V any](b *Builder, src connector.Source[K, V], o settings, isTable bool, connect func(in *instance, loop *input[K, V])) *topology.Node {
	if src == nil {
		b.problem(o.line, fmt.Errorf("the source is nil"))
		src = noSource[K, V]{}
	}
	if o.disorder < 0 || o.idleAfter < 0 {
		b.problem(o.line, fmt.Errorf("source %s: Disorder and IdleAfter must not be negative", src.Name()))
	}
	op := &operator{}
	spec := &sourceSpec{name: src.Name()}
	op.bind = func(b *binding) (any, error) { return spec.bind(b) }
	op.source = spec
	spec.use(src)
	op.make = func(in *instance) any {
		loop := &input[K, V]{task: in.task, node: in.self(), nulls: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "null")}
		loop.state = task.InputState{Mark: task.NewMark(), Name: in.node.Name, Table: isTable && o.versioned == 0,
			Disorder: o.disorder.Milliseconds(), IdleAfter: o.idleAfter.Milliseconds(), ClockWhenIdle: o.clockWhenIdle}
		loop.maxFuture = o.maxFuture.Milliseconds()
		if o.maxFuture < 0 {
			loop.maxFuture = -1 // a nanosecond is no millisecond, and still means no bound
		}
		loop.reject, loop.placed = in.rejection(), in.placement()
		in.task.AddInput(in.self(), loop)
		connect(in, loop)
		loop.near.ahead = aheadOf[K](in, in.node)
		return nil
	}
	detail := src.Name()
	if o.name == "" {
		o.name = src.Name()
	}
	n := b.add(topology.Source, o, op)
	n.Detail = detail
	return n
}

// A bindable source or sink depends on the app and its schema registry.
type bindable[T any] interface {
	Bind(app string, registry serde.Registry) (T, error)
}

// A describer is a source that reads topics of a cluster.
type describer interface {
	Describe(ctx context.Context, env connector.Env) (map[string]wire.Topic, error)
}

// use takes the source apart.
func (spec *sourceSpec) use[K, V any](src connector.Source[K, V]) {
	spec.bind = func(b *binding) (*sourceSpec, error) {
		bound := &sourceSpec{name: spec.name}
		src := src
		if s, ok := src.(bindable[connector.Source[K, V]]); ok {
			var err error
			if src, err = s.Bind(b.app, b.config.Registry); err != nil {
				return nil, err
			}
		}
		bound.use(src)
		return bound, nil
	}
	spec.source = src
	spec.partitions = func(ctx context.Context, env connector.Env) (int, error) {
		return src.Partitions(ctx, seen(env, spec.env))
	}
	spec.positions, _ = src.(wire.Positions)
	spec.topics = nil
	if d, ok := src.(describer); ok {
		spec.topics = func(ctx context.Context, env connector.Env) (map[string]wire.Topic, error) {
			return d.Describe(ctx, seen(env, spec.env))
		}
	}
	spec.open = func(ctx context.Context, env connector.Env, partition int, from connector.Position) (task.Reader, error) {
		r, err := src.Open(ctx, seen(env, spec.env), partition, from)
		if err != nil {
			return nil, err
		}
		return &reader[K, V]{r}, nil
	}
	spec.replace = func(other any) error {
		o, err := same(src, other)
		if err == nil {
			spec.use(o)
		}
		return err
	}
}

// A reader hides the types of a connector.Reader from the engine.
type reader[K, V any] struct{ r connector.Reader[K, V] }

func (r *reader[K, V]) Next(ctx context.Context) (task.Batch, error) {
	b, err := r.r.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &sourceBatch[K, V]{b}, nil
}

func (r *reader[K, V]) Close() error { return r.r.Close() }

// A sourceBatch is a connector.Batch for the engine.
type sourceBatch[K, V any] struct{ connector.Batch[K, V] }

// recordBytes is what a record is taken to hold when its batch does not say.
const recordBytes = 128

// Holds are the open transactions that the source waits for behind the batch. For the engine.
func (b *sourceBatch[K, V]) Holds() []wire.Hold {
	if s, ok := b.Batch.(interface{ Holds() []wire.Hold }); ok {
		return s.Holds()
	}
	return nil
}

// Bytes is what the batch says, or a guess.
func (b *sourceBatch[K, V]) Bytes() int {
	if s, ok := b.Batch.(interface{ Bytes() int }); ok {
		return s.Bytes()
	}
	return recordBytes * b.Len()
}

// noSource stands in for a nil source until Build has reported it.
type noSource[K, V any] struct{}

func (noSource[K, V]) Name() string { return "nil" }
func (noSource[K, V]) Partitions(context.Context, connector.Env) (int, error) {
	return 0, fmt.Errorf("nil source")
}
func (noSource[K, V]) Open(context.Context, connector.Env, int, connector.Position) (connector.Reader[K, V], error) {
	return nil, fmt.Errorf("nil source")
}

// engineSource is the plan's form of a source.
func (spec *sourceSpec) engineSource(n *topology.Node, input int) *engine.Source {
	src := &engine.Source{
		Name: n.Name, Input: input, Positions: spec.positions,
		// The source may still be replaced: it is looked up when it is used.
		Partitions: func(ctx context.Context, env connector.Env) (int, error) { return spec.partitions(ctx, env) },
		Open: func(ctx context.Context, env connector.Env, partition int, from connector.Position) (task.Reader, error) {
			return spec.open(ctx, env, partition, from)
		},
	}
	src.Topics = func(ctx context.Context, env connector.Env) (map[string]wire.Topic, error) {
		if spec.topics == nil {
			return nil, nil
		}
		return spec.topics(ctx, env)
	}
	return src
}

// engineGlobal is the plan's form of the source of a global table.
func (spec *sourceSpec) engineGlobal(n *topology.Node) *engine.Global {
	src := spec.engineSource(n, 0)
	return &engine.Global{Name: n.Name, Partitions: src.Partitions, Open: src.Open, Rows: spec.global}
}

// millis is t as event time.
func millis(t time.Time) int64 { return t.UnixMilli() }
