package stream

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// A binding is what nodes are bound to at Build.
type binding struct {
	app    string
	node   *topology.Node
	config *Config
}

// internal binds a serde for state, a changelog or a repartition topic.
func bindInternal[T any](b *binding, s serde.Serde[T], key bool) (serde.Serde[T], error) {
	s, err := serde.Bind(orFor(s), serde.Binding{App: b.app, Topic: b.node.Name, Key: key, Internal: true, Registry: b.config.Registry})
	if err != nil {
		what := "value"
		if key {
			what = "key"
		}
		return nil, fmt.Errorf("%s serde: %w", what, err)
	}
	return s, nil
}

// An instance is one task while it is made: receivers are made from the sinks back to the sources, so that each operator is
// compiled against the typed receivers behind it.
type instance struct {
	env     *engine.TaskEnv
	task    *task.Task
	config  *Config
	results map[*topology.Node]any // of bind
	nodes   map[*topology.Node]*task.Node
	made    map[*topology.Node]any
	aheads  map[*topology.Node]any // of those that look ahead
	node    *topology.Node         // being made
	letters map[any]*letterBox
	stores  map[*topology.Node]any // typed stores, by the node that owns them
	opened  map[string]task.Store  // by name
	shared  map[string]any         // stores of processors
	errs    []error
	reading bool // it was made for a query, and has no task of its own
}

// compile makes the task of one partition of a sub-topology.
func (p *program) compile(sub *topology.Sub, env *engine.TaskEnv) (*task.Task, error) {
	in := &instance{
		env:     env,
		task:    task.New(env.Task.Name, env.Task.Partition),
		config:  p.config,
		results: p.results,
		nodes:   map[*topology.Node]*task.Node{},
		made:    map[*topology.Node]any{},
		aheads:  map[*topology.Node]any{},
		letters: map[any]*letterBox{},
		stores:  map[*topology.Node]any{},
		opened:  map[string]task.Store{},
		shared:  map[string]any{},
	}
	in.task.UserContext = env.Context
	in.task.Explain = in.explain
	for _, n := range sub.Nodes {
		var parents []*task.Node
		for _, e := range n.Parents {
			parents = append(parents, in.nodes[e.Node])
		}
		in.nodes[n] = in.task.AddNode(n.Name, parents)
	}
	for _, n := range sub.Nodes {
		if n.Kind == topology.Source || n.Kind == topology.ExchangeIn {
			in.receiver(topology.Edge{Node: n})
		}
	}
	for _, n := range sub.Nodes {
		for _, spec := range storesOf(n, p.config) {
			if st := in.opened[spec.name]; st != nil {
				in.task.Stores = append(in.task.Stores, st)
			}
		}
	}
	in.task.Seal()
	env.Instance = in
	return in.task, errors.Join(in.errs...)
}

// receiver is what the edge leads to.
func (in *instance) receiver(e topology.Edge) any {
	r, ok := in.made[e.Node]
	if !ok {
		before := in.node
		in.node = e.Node
		r = specOf(e.Node).make(in)
		in.made[e.Node], in.node = r, before
	}
	if ports, ok := r.([]any); ok {
		return ports[e.Port]
	}
	return r
}

// failed notes an error of making the task. Making goes on, so that all are seen at once.
func (in *instance) failed(err error) {
	if err != nil {
		in.errs = append(in.errs, fmt.Errorf("%s: node %s: %w", in.node.Line, in.node.Name, err))
	}
}

// self is the running node of the operator being made.
func (in *instance) self() *task.Node { return in.nodes[in.node] }

// bound is what the operator's bind returned.
func bound[T any](in *instance) T { return in.results[in.node].(T) }

// outs is the receiver of everything behind the operator being made: one call when one operator follows, a loop when several do.
func outs[K, V any](in *instance) recv[K, V] {
	var rs []recv[K, V]
	for _, e := range in.node.Children() {
		if specOf(e.Node).outlet {
			continue
		}
		rs = append(rs, in.receiver(e).(recv[K, V]))
	}
	switch len(rs) {
	case 0:
		return func(*task.Context, K, V) {}
	case 1:
		return rs[0]
	case 2:
		first, second := rs[0], rs[1]
		return func(c *task.Context, k K, v V) {
			first(c, k, v)
			second(c, k, v)
		}
	}
	return func(c *task.Context, k K, v V) {
		for _, r := range rs {
			r(c, k, v)
		}
	}
}
