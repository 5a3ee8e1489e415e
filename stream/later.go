package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/topology"
)

// notBuilt stands in for an operator that this version does not have: its use is a Build error, its types are there.
func notBuilt(b *Builder, what string, parent *topology.Node) *topology.Node {
	o := settings{line: caller()}
	b.problem(o.line, fmt.Errorf("%s: %w", what, ErrNotBuilt))
	op := &operator{make: func(*instance) any { return nil }}
	if parent == nil {
		return b.add(topology.Kind(what), o, op)
	}
	return b.add(topology.Kind(what), o, op, at(parent))
}
