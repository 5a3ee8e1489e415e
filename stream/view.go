package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// View gives access to the rows of a table, a global table or a store. It may be taken before Run. The handle must be of the Builder
// that the app was built from.
//
// A view reads the task's part of a table where it is: a table that keeps no rows of its own, as Filter's and MapValues', is computed
// from its parent's, by the functions of the topology, which then run in the goroutine of who asks. Values of a global table are shared: look at them
// and leave them as they are.
func (a *App) View[K, V any](q Queryable[K, V]) (*table.View[K, V], error) {
	return a.compiled.View(a.e, q, table.Committed)
}

// View is App's, for streamtest.
func (c *Compiled) View[K, V any](a *engine.App, q Queryable[K, V], fresh table.Read) (*table.View[K, V], error) {
	s, err := q.queried(c, a)
	if err != nil {
		return nil, err
	}
	return table.ViewOf(s, fresh), nil
}

// A Queryable is a *Table, a *Global or a *Store.
type Queryable[K, V any] interface {
	queried(c *Compiled, a *engine.App) (table.Source[K, V], error)
}

// keyForms are what queries need to know of a table's keys.
type keyForms[K any] struct {
	place   func(dst []byte, k K) ([]byte, error) // what its partition is found by
	whole   func(dst []byte, k K) ([]byte, error) // all of it; sorts as keys do if ordered
	ordered bool
	oneKey  bool // a range lies in one partition: that of its key's windows
}

// plainForms are those of keys as they are stored.
func plainForms[K any](s serde.Serde[K]) *keyForms[K] {
	return &keyForms[K]{place: s.Append, whole: s.Append, ordered: serde.IsOrdered(s)}
}

func (t *Table[K, V]) queried(c *Compiled, a *engine.App) (table.Source[K, V], error) {
	sub, err := c.subOf(t.node)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.node.Name, err)
	}
	q := &querying[K, V]{app: a, prog: c.prog, name: t.node.Name, node: t.node, sub: sub, forms: t.forms(c.prog), lookup: t.lookup, scan: t.scan,
		anywhere: len(sub.Sources) > 0}
	if !serde.Plain[V]() {
		v, err := bindInternal(&binding{app: c.Plan.App, node: t.node, config: c.prog.config}, t.value, false)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w: live values are handed out as copies: name a ValueSerde", t.node.Name, err)
		}
		q.value = v
	}
	return q, nil
}

// subOf is the sub-topology of a node.
func (c *Compiled) subOf(n *topology.Node) (*engine.Sub, error) {
	if !c.prog.graph.Has(n) {
		return nil, errors.New("it is of another Builder than the app: take the handle from the one that was built")
	}
	for _, sub := range c.Plan.Subs {
		if sub.Name == n.Sub().Name {
			return sub, nil
		}
	}
	return nil, errors.New("it has no task")
}

// querying is the table.Source of a table or a store.
type querying[K, V any] struct {
	app      *engine.App
	prog     *program
	name     string
	node     *topology.Node
	sub      *engine.Sub
	forms    *keyForms[K]
	value    serde.Serde[V] // copies live values; nil when they are plain
	lookup   func(in *instance) lookup[K, V]
	scan     func(in *instance) scanner[K, V]
	anywhere bool // a key may be in another partition than the one its bytes give: someone else partitions
}

func (q *querying[K, V]) Name() string { return q.name }

// named gives the engine's errors the names of package table.
func (q *querying[K, V]) named(err error) error {
	elsewhere := &engine.ElsewhereError{}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &elsewhere):
		return &table.NotLocalError{Table: q.name, Address: elsewhere.Address}
	case errors.Is(err, engine.ErrRestoring):
		err = table.ErrRestoring
	case errors.Is(err, engine.ErrNotRunning):
		err = table.ErrNotRunning
	}
	return fmt.Errorf("table %s: %w", q.name, err)
}

// partition is where a key belongs.
func (q *querying[K, V]) partition(k K) (p int, here []int, err error) {
	n, here, err := q.app.Partitions(q.sub)
	if err != nil {
		return 0, nil, err
	}
	b, err := q.forms.place(nil, k)
	if err != nil {
		return 0, nil, fmt.Errorf("key: %w", err)
	}
	return int(partition.Of(b, int32(max(1, n)))), here, nil
}

func (q *querying[K, V]) Locate(k K) (string, error) {
	p, _, err := q.partition(k)
	if err != nil {
		return "", q.named(err)
	}
	address, err := q.app.Where(q.sub, p)
	return address, q.named(err)
}

func (q *querying[K, V]) Get(ctx context.Context, k K, how table.Read) (row table.Row[K, V], ok bool, err error) {
	p, here, err := q.partition(k)
	if err != nil {
		return row, false, q.named(err)
	}
	if row, ok, err = q.getIn(ctx, p, k, how); err != nil || ok || !q.anywhere {
		return row, ok, q.named(err)
	}
	if how == table.Stale {
		here = append(here, q.app.Copies(q.sub)...)
	}
	for _, other := range here {
		if other == p {
			continue
		}
		if row, ok, err = q.getIn(ctx, other, k, how); err == nil && ok {
			return row, ok, nil
		}
	}
	return table.Row[K, V]{}, false, nil
}

// getIn is Get in one partition.
func (q *querying[K, V]) getIn(ctx context.Context, p int, k K, how table.Read) (table.Row[K, V], bool, error) {
	var rows []table.Row[K, V]
	err := q.ask(ctx, p, how, func(in *instance) error {
		v, t, ok := q.lookup(in)(k)
		if !ok {
			return nil
		}
		row, err := q.row(k, v, t, how)
		rows = append(rows, row)
		return err
	})
	if err != nil || len(rows) == 0 {
		return table.Row[K, V]{}, false, err
	}
	return rows[0], true, nil
}

// row is what leaves the task: a value of its own.
func (q *querying[K, V]) row(k K, v V, t int64, how table.Read) (table.Row[K, V], error) {
	if how == table.Live && q.value != nil {
		b, err := q.value.Append(nil, v)
		if err == nil {
			v, err = q.value.Decode(b)
		}
		if err != nil {
			return table.Row[K, V]{}, fmt.Errorf("value: %w", err)
		}
	}
	return table.Row[K, V]{Key: k, Value: v, Time: time.UnixMilli(t).UTC()}, nil
}

// ask calls do with an instance to read from: the task's own, or one that sees the database as it is.
func (q *querying[K, V]) ask(ctx context.Context, p int, how table.Read, do func(in *instance) error) error {
	if how != table.Live {
		look := q.app.Look
		if how == table.Stale {
			look = q.app.LookStale
		}
		return look(q.sub, p, func(env *engine.TaskEnv) error {
			return guarded(func() error { return do(q.prog.reader(env, q.node)) })
		})
	}
	answer := make(chan error, 1)
	if err := q.app.Ask(ctx, q.sub, p, func(env *engine.TaskEnv) {
		answer <- guarded(func() error { return do(env.Instance.(*instance)) })
	}); err != nil {
		return err
	}
	return <-answer
}

// guarded turns what user functions and stores panic with into the error of a query: the task does not fail of it.
func guarded(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case task.Failure:
			err = p.Err
		case error:
			err = p
		default:
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// reader is an instance without a task: its stores are empty overlays over the database, and nothing is written.
func (p *program) reader(env *engine.TaskEnv, n *topology.Node) *instance {
	quiet := *env
	quiet.Count = func(string, ...string) func(int64) { return func(int64) {} }
	return &instance{env: &quiet, task: task.New(env.Task.Name, env.Task.Partition), config: p.config, results: p.results, node: n, reading: true,
		stores: map[*topology.Node]any{}, opened: map[string]task.Store{}, shared: map[string]any{}}
}

// pageRows is how many rows one call to a task fetches.
const pageRows = 256

func (q *querying[K, V]) Scan(ctx context.Context, from, to *K, how table.Read) iter.Seq2[table.Row[K, V], error] {
	return func(yield func(table.Row[K, V], error) bool) {
		parts, err := q.parts(from, to, how)
		if err != nil {
			yield(table.Row[K, V]{}, q.named(err))
			return
		}
		var seqs []iter.Seq2[table.Row[K, V], error]
		for _, p := range parts {
			seqs = append(seqs, q.scanIn(ctx, p, from, to, how))
		}
		if from == nil {
			concat(seqs, yield)
			return
		}
		merge(seqs, q.forms.whole, yield)
	}
}

// parts are the partitions of a range.
func (q *querying[K, V]) parts(from, to *K, how table.Read) ([]int, error) {
	if q.scan == nil {
		return nil, errors.New("it cannot be iterated over: only a table that keeps its rows can")
	}
	if from == nil || !q.forms.oneKey {
		_, here, err := q.app.Partitions(q.sub)
		if err == nil && how == table.Stale {
			here = append(here, q.app.Copies(q.sub)...)
		}
		if err == nil && from != nil && !q.forms.ordered {
			err = errors.New("a range needs a key serde that keeps the order of keys (serde.Ordered)")
		}
		return here, err
	}
	a, err := q.forms.place(nil, *from)
	b, err2 := q.forms.place(nil, *to)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if string(a) != string(b) {
		return nil, errors.New("a range of windows is of one key")
	}
	p, _, err := q.partition(*from)
	return []int{p}, err
}

// scanIn iterates over the rows of one partition, a page at a time.
func (q *querying[K, V]) scanIn(ctx context.Context, p int, from, to *K, how table.Read) iter.Seq2[table.Row[K, V], error] {
	return func(yield func(table.Row[K, V], error) bool) {
		var last []byte
		for {
			var page []table.Row[K, V]
			err := q.ask(ctx, p, how, func(in *instance) (err error) {
				page, err = q.page(in, from, to, last, how)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(table.Row[K, V]{}, q.named(err))
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < pageRows {
				return
			}
			k := page[len(page)-1].Key
			if last, err = q.forms.whole(nil, k); err != nil {
				yield(table.Row[K, V]{}, q.named(err))
				return
			}
			from = &k
		}
	}
}

// page fetches rows from a key on, without the one that was fetched last.
func (q *querying[K, V]) page(in *instance, from, to *K, last []byte, how table.Read) (page []table.Row[K, V], err error) {
	get := q.lookup(in)
	var buf []byte
	for k := range q.scan(in)(from, to) {
		if last != nil {
			if buf, err = q.forms.whole(buf[:0], k); err != nil || string(buf) == string(last) {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		v, t, ok := get(k)
		if !ok {
			continue
		}
		row, err := q.row(k, v, t, how)
		if err != nil {
			return nil, err
		}
		if page = append(page, row); len(page) == pageRows {
			break
		}
	}
	return page, nil
}

func concat[K, V any](seqs []iter.Seq2[table.Row[K, V], error], yield func(table.Row[K, V], error) bool) {
	for _, seq := range seqs {
		for row, err := range seq {
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// merge takes the row with the least key of several sequences that are in the order of their keys' bytes.
func merge[K, V any](seqs []iter.Seq2[table.Row[K, V], error], whole func([]byte, K) ([]byte, error), yield func(table.Row[K, V], error) bool) {
	type head struct {
		key  []byte
		row  table.Row[K, V]
		next func() (table.Row[K, V], error, bool)
	}
	var heads []*head
	for _, seq := range seqs {
		next, stop := iter.Pull2(seq)
		defer stop()
		heads = append(heads, &head{next: next})
	}
	advance := func(h *head) bool {
		row, err, ok := h.next()
		if ok && err == nil {
			h.row = row
			h.key, err = whole(h.key[:0], row.Key)
		}
		if err != nil {
			yield(row, err)
			return false
		}
		if !ok {
			heads = slices.DeleteFunc(heads, func(o *head) bool { return o == h })
		}
		return true
	}
	for _, h := range slices.Clone(heads) {
		if !advance(h) {
			return
		}
	}
	for len(heads) > 0 {
		least := slices.MinFunc(heads, func(a, b *head) int { return slices.Compare(a.key, b.key) })
		if !yield(least.row, nil) || !advance(least) {
			return
		}
	}
}
