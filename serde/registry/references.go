package registry

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/serde"
)

// A Part is a schema that another one refers to by a name.
type Part struct {
	Name   string
	Schema serde.Schema
}

// maxParts bounds how many schemas one schema may pull in.
const maxParts = 1000

// References fetches all schemas that s refers to, directly or not, each once and each after those that it refers to itself.
// For serdes.
func References(ctx context.Context, from serde.Registry, s serde.Schema) ([]Part, error) {
	if len(s.References) == 0 {
		return nil, nil
	}
	w := walk{ctx: ctx, from: from, state: map[serde.Reference]bool{}}
	if err := w.visit(s); err != nil {
		return nil, err
	}
	return w.parts, nil
}

// A walk collects parts depth first.
type walk struct {
	ctx   context.Context
	from  serde.Registry
	state map[serde.Reference]bool // false: under way, true: in parts
	parts []Part
}

func (w *walk) visit(s serde.Schema) error {
	for _, ref := range s.References {
		done, seen := w.state[ref]
		switch {
		case done:
			continue
		case seen:
			return fmt.Errorf("registry: subject %q version %d refers to itself", ref.Subject, ref.Version)
		case len(w.state) >= maxParts:
			return fmt.Errorf("registry: a schema refers to more than %d others", maxParts)
		}
		w.state[ref] = false
		_, part, err := w.from.Version(w.ctx, ref.Subject, ref.Version)
		if err != nil {
			return fmt.Errorf("reference %q: %w", ref.Name, err)
		}
		if part.Format != s.Format {
			return fmt.Errorf("reference %q: its format is %s, that of the schema %s", ref.Name, part.Format, s.Format)
		}
		if err := w.visit(part); err != nil {
			return err
		}
		w.state[ref] = true
		w.parts = append(w.parts, Part{Name: ref.Name, Schema: part})
	}
	return nil
}
