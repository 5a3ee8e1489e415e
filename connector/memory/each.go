package memory

import (
	"context"

	"github.com/weirstream/weir/connector"
)

// Each is a sink that calls f, at least once per record: again for what is processed again after a crash. f is called by the task
// that the record is in, so by several goroutines at once when there are several partitions, and must not keep r.
func Each[K, V any](name string, f func(r *connector.Record[K, V])) connector.Sink[K, V] {
	return each[K, V]{name, f}
}

type each[K, V any] struct {
	name string
	f    func(r *connector.Record[K, V])
}

func (e each[K, V]) Name() string { return e.name }

func (e each[K, V]) Open(context.Context, connector.Env, connector.Task) (connector.Writer[K, V], error) {
	return e, nil
}

func (e each[K, V]) Write(r *connector.Record[K, V]) error {
	e.f(r)
	return nil
}

func (e each[K, V]) Flush(context.Context) error { return nil }

func (e each[K, V]) Close() error { return nil }
