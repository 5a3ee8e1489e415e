package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

func (g *Global[K, V]) queried(c *Compiled, a *engine.App) (table.Source[K, V], error) {
	if !c.prog.graph.Has(g.node) {
		return nil, fmt.Errorf("global table %s is of another Builder than the app: take the handle from the one that was built", g.node.Name)
	}
	return &globalQuery[K, V]{app: a, rows: c.prog.results[g.node].(*sourceSpec).global.(*globalRows[K, V])}, nil
}

// globalQuery is the table.Source of a global table. Every process answers for itself, whatever the freshness: no task has it.
type globalQuery[K, V any] struct {
	app  *engine.App
	rows *globalRows[K, V]
}

func (q *globalQuery[K, V]) Name() string { return q.rows.name }

func (q *globalQuery[K, V]) loaded() error {
	switch err := q.app.Loaded(); {
	case errors.Is(err, engine.ErrRestoring):
		return fmt.Errorf("global table %s: %w", q.rows.name, table.ErrRestoring)
	case err != nil:
		return fmt.Errorf("global table %s: %w", q.rows.name, table.ErrNotRunning)
	}
	return nil
}

func (q *globalQuery[K, V]) Get(_ context.Context, k K, _ table.Read) (row table.Row[K, V], ok bool, err error) {
	if err := q.loaded(); err != nil {
		return row, false, err
	}
	b, err := q.rows.key.Append(nil, k)
	if err != nil {
		return row, false, fmt.Errorf("global table %s: key: %w", q.rows.name, err)
	}
	v, ok := q.rows.get(b)
	return table.Row[K, V]{Key: k, Value: v}, ok, nil
}

// Locate says that the key is here: it is everywhere.
func (q *globalQuery[K, V]) Locate(K) (string, error) { return q.app.Address(), q.loaded() }

// Scan looks at the keys as they are when it begins.
func (q *globalQuery[K, V]) Scan(ctx context.Context, from, to *K, _ table.Read) iter.Seq2[table.Row[K, V], error] {
	return func(yield func(table.Row[K, V], error) bool) {
		keys, err := q.keys(from, to)
		for i := 0; i < len(keys) && err == nil; i++ {
			var k K
			if err = ctx.Err(); err != nil {
				break
			}
			if k, err = q.rows.key.Decode([]byte(keys[i])); err != nil {
				break
			}
			if v, ok := q.rows.get([]byte(keys[i])); ok && !yield(table.Row[K, V]{Key: k, Value: v}, nil) {
				return
			}
		}
		if err != nil {
			yield(table.Row[K, V]{}, fmt.Errorf("global table %s: %w", q.rows.name, err))
		}
	}
}

// keys are those of a range, in order.
func (q *globalQuery[K, V]) keys(from, to *K) ([]string, error) {
	if err := q.loaded(); err != nil {
		return nil, err
	}
	var lo, hi []byte
	if from != nil {
		if !serde.IsOrdered(q.rows.key) {
			return nil, errors.New("a range needs a key serde that keeps the order of keys (serde.Ordered)")
		}
		var errs [2]error
		lo, errs[0] = q.rows.key.Append(nil, *from)
		hi, errs[1] = q.rows.key.Append(nil, *to)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
	}
	q.rows.mu.RLock()
	keys := slices.Collect(maps.Keys(q.rows.rows))
	q.rows.mu.RUnlock()
	keys = slices.DeleteFunc(keys, func(k string) bool { return from != nil && (k < string(lo) || k >= string(hi)) })
	slices.Sort(keys)
	return keys, nil
}
