package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/internal/wire"
)

// To ends the stream in a sink.
func (s *Stream[K, V]) To[S SliceOf[V]](sink connector.Sink[K, V], opts ...SinkOption) {
	o := collect(opts, func(o SinkOption, s *settings) { o.sink(s) })
	addSink(s.b, sink, o, s.node, func(in *instance, w *sinkEnd[K, V]) any {
		return recv[K, V](func(c *task.Context, k K, v V) {
			w.rec.Key, w.rec.Value, w.rec.Deleted = k, v, false
			w.write(c)
		})
	})
}

// A sinkSpec is what Build and the engine need of a sink, without its types.
type sinkSpec struct {
	name    string
	sink    any
	outbox  bool                              // it is on another cluster, and fed from an outbox
	replace func(sink any) error              // by streamtest: writes to another connector of the same types
	env     func(connector.Env) connector.Env // by streamtest; nil: as it is
}

// addSink makes the node of a sink; receive makes its receiver.
func addSink[K, V any](b *Builder, sink connector.Sink[K, V], o settings, parent *topology.Node, receive func(in *instance, w *sinkEnd[K, V]) any) {
	if sink == nil {
		b.problem(o.line, fmt.Errorf("the sink is nil"))
		return
	}
	bind := func(b *binding) (any, error) {
		to := sink
		if s, ok := sink.(bindable[connector.Sink[K, V]]); ok {
			var err error
			if to, err = s.Bind(b.app, b.config.Registry); err != nil {
				return nil, err
			}
		}
		if err := exact(to, b.config, o.atLeastOnce); err != nil {
			return nil, err
		}
		spec := &sinkSpec{name: sink.Name(), sink: to, outbox: !o.atLeastOnce && b.config.Guarantee == ExactlyOnce && elsewhere(to, b.config)}
		spec.replace = func(other any) error {
			s, err := same(to, other)
			to, spec.sink = s, s
			return err
		}
		return spec, nil
	}
	op := &operator{sink: &sinkSpec{name: sink.Name(), sink: sink}, headers: true, bind: bind, make: func(in *instance) any {
		end := &sinkEnd[K, V]{node: in.self(), reject: in.rejection()}
		spec := bound[*sinkSpec](in)
		w, err := openSink(in, spec.sink.(connector.Sink[K, V]), spec.env, spec.outbox)
		if err != nil {
			in.failed(fmt.Errorf("sink %s: %w", sink.Name(), err))
			return receive(in, end)
		}
		end.w = w
		return receive(in, end)
	}}
	if o.name == "" {
		o.name = "to-" + sink.Name()
	}
	n := b.add(topology.Sink, o, op, at(parent))
	n.Detail = sink.Name()
}

// exact refuses a sink that would make exactly-once a promise that is not kept: it is neither in the commit log's transaction nor has it
// two phases of its own, and nobody said that this is known.
func exact[K, V any](sink connector.Sink[K, V], c *Config, known bool) error {
	if c.Guarantee != ExactlyOnce || known {
		return nil
	}
	if _, ok := sink.(connector.TwoPhaseSink[K, V]); ok {
		return nil
	}
	_, ok := sink.(wire.InLog)
	switch {
	case !ok:
		return fmt.Errorf("sink %s cannot take part in exactly-once checkpoints: mark it with AtLeastOnceSink(), or use a sink that is a connector.TwoPhaseSink", sink.Name())
	case c.Cluster == nil && elsewhere(sink, c):
		return fmt.Errorf("sink %s is on a cluster, and the app has none (Config.Cluster): exactly once from state that is in this process alone into it is not built yet; mark it with AtLeastOnceSink()", sink.Name())
	}
	return nil
}

// elsewhere reports whether a sink is on another cluster than the app's.
func elsewhere(sink any, c *Config) bool {
	l, ok := sink.(wire.InLog)
	return ok && l.OnCluster() != nil && l.OnCluster() != any(c.Cluster)
}

// A sinkEnd writes one task's records to a sink.
type sinkEnd[K, V any] struct {
	node   *task.Node
	w      connector.Writer[K, V]
	rec    Record[K, V]
	reject rejection
}

// write sends rec, whose key, value and deletion are set.
func (e *sinkEnd[K, V]) write(c *task.Context) {
	c.Fault = e.node
	e.rec.Time, e.rec.Headers, e.rec.Origin, e.rec.NoKey = time.UnixMilli(c.Time), c.Headers, c.Origin, c.NoKey
	if err := e.w.Write(&e.rec); err != nil {
		e.reject(c, err, nil)
		return
	}
	c.Effects++
}

// openSink opens a sink for the task being made, and sees to its part in checkpoints.
func openSink[K, V any](in *instance, sink connector.Sink[K, V], sees func(connector.Env) connector.Env, outbox bool) (connector.Writer[K, V], error) {
	env := seen(in.env.Connector, sees)
	if l, ok := sink.(wire.InLog); ok && in.env.Appender != nil && (outbox || !elsewhere(sink, in.config)) {
		env.Appender = in.env.Appender
		if in.env.SinkAppender != nil {
			env.Appender = in.env.SinkAppender
		}
		if outbox {
			var err error
			env.Cluster = l.OnCluster().(connector.Cluster)
			if env, err = in.env.Outbox(in.node.Name, env); err != nil {
				return nil, err
			}
		}
		w, err := sink.Open(in.env.Context, env, in.env.Task)
		if err == nil {
			in.task.Sinks = append(in.task.Sinks, loggedSink{outsideSink{sink.Name()}, w.Close})
		}
		return w, err
	}
	if tp, ok := sink.(connector.TwoPhaseSink[K, V]); ok && in.config.Guarantee == ExactlyOnce {
		if err := tp.Recover(in.env.Context, env, in.env.Task, in.env.Recovered(sink.Name())); err != nil {
			err = fmt.Errorf("recover: %w", err)
			if !errors.Is(err, connector.ErrLost) {
				err = engine.Recover(err) // an outage, as in Prepare and Commit
			}
			return nil, err
		}
		w, err := tp.OpenTx(in.env.Context, env, in.env.Task)
		if err == nil {
			in.task.Sinks = append(in.task.Sinks, &preparedSink[K, V]{outsideSink{sink.Name()}, tp, w, env})
		}
		return w, err
	}
	w, err := sink.Open(in.env.Context, env, in.env.Task)
	if err == nil {
		in.task.Sinks = append(in.task.Sinks, &flushedSink[K, V]{outsideSink{sink.Name()}, w})
	}
	return w, err
}

// An outsideSink is what sinks have in common that have no second phase.
type outsideSink struct{ name string }

func (s outsideSink) Name() string                                 { return s.name }
func (outsideSink) Commit(context.Context, connector.Handle) error { return nil }

// A loggedSink is inside the commit log: it has nothing to prepare.
type loggedSink struct {
	outsideSink
	close func() error
}

func (loggedSink) Prepare(context.Context, uint64) (connector.Handle, error) { return nil, nil }
func (s loggedSink) Close() error                                            { return s.close() }

// A preparedSink has two phases of its own.
type preparedSink[K, V any] struct {
	outsideSink
	sink connector.TwoPhaseSink[K, V]
	w    connector.TxWriter[K, V]
	env  connector.Env
}

func (s *preparedSink[K, V]) Prepare(ctx context.Context, n uint64) (connector.Handle, error) {
	return s.w.Prepare(ctx, n)
}
func (s *preparedSink[K, V]) Commit(ctx context.Context, h connector.Handle) error {
	return s.sink.Commit(ctx, s.env, h)
}
func (s *preparedSink[K, V]) Close() error { return s.w.Close() }

// A flushedSink is written at least once.
type flushedSink[K, V any] struct {
	outsideSink
	w connector.Writer[K, V]
}

func (s *flushedSink[K, V]) Prepare(ctx context.Context, _ uint64) (connector.Handle, error) {
	return nil, s.w.Flush(ctx)
}
func (s *flushedSink[K, V]) Close() error { return s.w.Close() }
