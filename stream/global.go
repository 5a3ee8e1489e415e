package stream

import (
	"errors"
	"fmt"
	"sync"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// A Global is a table of which every process holds the whole, in memory. It is loaded before processing starts and followed from then
// on; it is not synchronised with the streams that are joined with it, by time or by checkpoint.
type Global[K, V any] struct {
	b    *Builder
	node *topology.Node
	key  serde.Serde[K]
}

// kindGlobal is that of a node which has no tasks.
const kindGlobal topology.Kind = "global"

// Global reads a table of which every process holds the whole. It is loaded before processing starts. A row that cannot be read fails
// the app, or under Skip leaves the row before it. There are no dead letters of it, for no checkpoint covers what every process reads: where
// Config.OnError is a DeadLetter, the table needs a policy of its own, or Build fails.
func (b *Builder) Global[K, V any](src connector.Source[K, V], opts ...TableSourceOption) *Global[K, V] {
	o := collect(opts, func(o TableSourceOption, s *settings) { o.tableSource(s) })
	if src == nil {
		b.problem(o.line, fmt.Errorf("the source is nil"))
		src = noSource[K, V]{}
	}
	if _, ok := o.policy.(*deadLetter); ok {
		b.problem(o.line, fmt.Errorf("global table %s: it has no dead letters, no checkpoint covers it: use Skip or Fail", src.Name()))
	}
	spec := &sourceSpec{name: src.Name()}
	spec.use(src)
	key, _ := serdesOf(src)
	g := &Global[K, V]{b: b, key: key}
	op := &operator{source: spec, make: func(*instance) any { return nil }}
	op.bind = func(at *binding) (any, error) {
		bound, err := spec.bind(at)
		if err != nil {
			return nil, err
		}
		k, err := bindInternal(at, key, true)
		policy := o.policy
		if policy == nil {
			policy = at.config.OnError
			if _, ok := policy.(*deadLetter); ok {
				return nil, fmt.Errorf("Config.OnError is a DeadLetter, and a global table has no dead letters: every process reads it, and no checkpoint covers that; " +
					"give the table a policy of its own: OnError(Skip) or OnError(Fail)")
			}
		}
		bound.global = &globalRows[K, V]{name: o.name, key: k, reject: policy, rows: map[string]V{}}
		return bound, err
	}
	if o.name == "" {
		o.name = src.Name()
	}
	g.node = b.add(kindGlobal, o, op)
	g.node.Detail = src.Name()
	return g
}

// globalRows are the rows of a global table in one process. They are read by every task and changed by who follows the source.
type globalRows[K, V any] struct {
	name   string
	key    serde.Serde[K]
	reject Policy
	mu     sync.RWMutex
	rows   map[string]V
}

// get is the row of an encoded key.
func (g *globalRows[K, V]) get(key []byte) (V, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	v, ok := g.rows[string(key)]
	return v, ok
}

// Apply takes a batch that was read. For the engine.
func (g *globalRows[K, V]) Apply(b task.Batch, bad func(error)) error {
	batch := b.(*sourceBatch[K, V])
	defer batch.Release()
	g.mu.Lock()
	defer g.mu.Unlock()
	var buf []byte
	for i := range batch.Len() {
		var r Record[K, V]
		err := batch.Decode(i, &r)
		if err == nil && !r.NoKey {
			buf, err = g.key.Append(buf[:0], r.Key)
		}
		switch {
		case err != nil:
			if err := g.judge(&Error{Node: g.name, Task: "global", Origin: r.Origin, Err: err}); err != nil {
				return err
			}
			bad(err) // the old row stays
		case r.NoKey:
			bad(errNoKey)
		case r.Deleted:
			delete(g.rows, string(buf))
		default:
			g.rows[string(buf)] = r.Value
		}
	}
	return nil
}

// judge is nil if the policy goes on without a row.
func (g *globalRows[K, V]) judge(e *Error) error {
	p := g.reject
	for d, ok := p.(decidePolicy); ok; d, ok = p.(decidePolicy) {
		p = d.f(e)
	}
	if _, ok := p.(*deadLetter); ok {
		return fmt.Errorf("%w; and Decide chose a DeadLetter, which a global table does not have: choose Skip or Fail", e)
	}
	if p == Skip {
		return nil
	}
	return e
}

var errNoKey = errors.New("a row of a table needs a key")

// Reset forgets the rows, before they are loaded again. For the engine.
func (g *globalRows[K, V]) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rows = map[string]V{}
}

var _ engine.Rows = (*globalRows[string, int])(nil)
