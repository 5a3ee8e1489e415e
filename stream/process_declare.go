package stream

import (
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// declarations are what a Process says it needs, learned by calling its setup once while the topology is built.
type declarations struct {
	b      *Builder
	line   string
	name   string
	node   *topology.Node
	states []*stateDecl
	shared []*sharedStore
	timers []string
	tables []*topology.Node
	ports  []func(in *instance) any // receivers of the tables' changes, which are read by looking them up
}

// A stateDecl is a Value, List or Map.
type stateDecl struct {
	name string
	ttl  bool
	bind func(b *binding) (any, error)
}

func (d *declarations) problem(err error) { d.b.problem(d.line, err) }

// stateful reports whether the key of a record must be in its place.
func (d *declarations) stateful() bool {
	return len(d.states)+len(d.shared)+len(d.timers)+len(d.tables) > 0
}

// finish names what was declared and reports what is there twice.
func (d *declarations) finish(name string) {
	d.name = name
	seen := map[string]bool{}
	check := func(what, name string) {
		switch {
		case name == "":
			d.problem(fmt.Errorf("a %s needs a name", what))
		case seen[name]:
			d.problem(fmt.Errorf("%s %q is declared twice", what, name))
		}
		seen[name] = true
	}
	for _, st := range d.states {
		check("state", st.name)
	}
	for _, t := range d.timers {
		check("timer", t)
	}
}

// specs are the stores that the node owns: those of its states, of timers, and of shared stores that it is the first to use.
func (d *declarations) specs() (out []storeSpec) {
	for _, st := range d.states {
		out = append(out, storeSpec{name: d.name + "-" + st.name, changelog: true})
		if st.ttl {
			out = append(out, storeSpec{name: d.name + "-" + st.name + ttlSuffix, changelog: true})
		}
	}
	if len(d.timers) > 0 {
		out = append(out, storeSpec{name: d.name + "-timers", changelog: true})
	}
	for _, s := range d.shared {
		if !d.b.owned[s.name] {
			d.b.owned[s.name] = true
			out = append(out, storeSpec{name: s.name, changelog: true})
			if s.ttl > 0 {
				out = append(out, storeSpec{name: s.name + ttlSuffix, changelog: true})
			}
		}
	}
	return out
}

// boundProcess are the serdes of a Process, bound: key is a serde.Serde[K], the others are known to who declared them.
type boundProcess struct {
	key    any
	states map[string]any
}

// bind binds every serde.
func (d *declarations) bind[K any](b *binding, key serde.Serde[K]) (any, error) {
	out := &boundProcess{states: map[string]any{}}
	if d.stateful() {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		out.key = k
	}
	for _, st := range d.states {
		s, err := st.bind(b)
		if err != nil {
			return nil, fmt.Errorf("state %s: %w", st.name, err)
		}
		out.states[st.name] = s
	}
	for _, s := range d.shared {
		bound, err := s.bind(b)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.name, err)
		}
		out.states[sharedKey(s.name)] = bound
	}
	return out, nil
}

// sharedKey keeps stores and states of one name apart.
func sharedKey(name string) string { return "store " + name }

// drain are the receivers of tables that the processor looks up: their changes need no attention.
func (d *declarations) drain(in *instance) (out []any) {
	for _, p := range d.ports {
		out = append(out, p(in))
	}
	return out
}

var noOrigin connector.Origin

// mainOuts is the receiver of what follows a Process itself, its further outputs left out.
func mainOuts[K, V any](in *instance) recv[K, V] {
	var rs []recv[K, V]
	for _, e := range in.node.Children() {
		if specOf(e.Node).output == nil {
			rs = append(rs, in.receiver(e).(recv[K, V]))
		}
	}
	return func(c *task.Context, k K, v V) {
		for _, r := range rs {
			r(c, k, v)
		}
	}
}
