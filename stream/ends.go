package stream

import (
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// An End is a source or a sink of a compiled topology, dead letters among the sinks. For streamtest.
type End struct {
	Name      string // of the connector
	Node      string // of the node; "" for dead letters
	Source    bool
	Connector any // the connector.Source or connector.Sink as it was given
	env       *func(connector.Env) connector.Env
	replace   func(connector any) error
}

// Replace puts another connector of the same types in its place.
func (e *End) Replace(connector any) error { return e.replace(connector) }

// Redirect changes what the connector sees of the app: another cluster, say.
func (e *End) Redirect(f func(connector.Env) connector.Env) { *e.env = f }

// Ends lists the sources and sinks that the topology names. What a Decide picks is not known before a record is rejected.
func (c *Compiled) Ends() []*End {
	var ends []*End
	letters := map[*deadLetter]bool{}
	letter := func(p Policy) {
		if d, ok := p.(*deadLetter); ok && !letters[d] {
			letters[d] = true
			ends = append(ends, d.end())
		}
	}
	for _, n := range c.prog.graph.Nodes {
		op := specOf(n)
		switch {
		case op.source != nil:
			ends = append(ends, c.prog.results[n].(*sourceSpec).end(n))
		case op.sink != nil:
			ends = append(ends, c.prog.results[n].(*sinkSpec).end(n))
		}
		letter(op.opts.policy)
	}
	letter(c.prog.config.OnError)
	return ends
}

func (spec *sourceSpec) end(n *topology.Node) *End {
	return &End{Name: spec.name, Node: n.Name, Source: true, Connector: spec.source, env: &spec.env, replace: spec.replace}
}

func (spec *sinkSpec) end(n *topology.Node) *End {
	return &End{Name: spec.name, Node: n.Name, Connector: spec.sink, env: &spec.env, replace: spec.replace}
}

func (d *deadLetter) end() *End {
	return &End{Name: d.sink.Name(), Connector: d.sink, env: &d.env, replace: func(other any) error {
		s, err := same(d.sink, other)
		d.sink = s
		return err
	}}
}

// Registry is the one that serdes are bound with.
func (c *Compiled) Registry() serde.Registry { return c.prog.config.Registry }

// same is other as what it takes the place of, or that unchanged and an error when other carries other types.
func same[T any](is T, other any) (T, error) {
	o, ok := other.(T)
	if !ok {
		return is, fmt.Errorf("%T cannot take the place of %T: it carries other types", other, is)
	}
	return o, nil
}

// seen is the environment as a connector sees it.
func seen(env connector.Env, f func(connector.Env) connector.Env) connector.Env {
	if f == nil {
		return env
	}
	return f(env)
}
