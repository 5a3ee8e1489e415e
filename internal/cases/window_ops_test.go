package cases

import (
	"fmt"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

type windowTable = stream.Table[window.Key[value], value]

func windowOperations() map[string]func(p *program) error {
	return map[string]func(p *program) error{
		"window_assignment":                             assignment,
		"windowed_aggregate":                            windowedAggregate,
		"windowed_aggregate + table_table_join.inner":   joinOfWindows,
		"stream_stream_join.inner + windowed_aggregate": windowsOfJoin,
		"suppress.until_window_close":                   untilWindowClose,
		"cogroup.aggregate":                             cogroup,
		"cogroup.aggregate + table_table_join.inner":    cogroupAndJoin,
		"cogroup.windowed_aggregate":                    cogroupWindows,
	}
}

// assignment: the windows of a time, seen as what a count emits.
func assignment(p *program) error {
	spec, err := p.Params.Window.spec()
	if err != nil {
		return err
	}
	one := p.stream("in").Map(func(_, v value) (value, value) { return text("k"), v })
	p.keyed = true
	p.outWindows("out", one.GroupByKey().Window(spec).Count(stream.OnUpdate).MapValues(number))
	return nil
}

// windowed is the aggregate of a stream that the parameters describe.
func (p *program) windowed(s *stream.Stream[value, value], name string, emit stream.WindowOption) (*windowTable, error) {
	f, err := parseFold(p.Params.Aggregation)
	if err != nil {
		return nil, err
	}
	g := s.GroupByKey()
	if p.Params.Topology == "group by value (repartition), then window" {
		g = s.GroupBy(func(_, v value) value { return v }).KeySerde(valueSerde())
	}
	opts := []stream.WindowOption{emit, stream.Named(name)}
	if p.Params.Window.Type == "session" {
		return p.sessions(g.Session(p.Params.Window.session()), f, opts)
	}
	spec, err := p.Params.Window.spec()
	if err != nil {
		return nil, err
	}
	w := g.Window(spec)
	switch {
	case f.count:
		return w.Count(opts...).MapValues(number).ValueSerde(valueSerde()), nil
	case f.reduce != nil:
		return w.Reduce(f.reduce, emit, stream.Named(name)), nil
	}
	return w.Aggregate(func() value { return f.init }, f.of(""), opts...).ValueSerde(valueSerde()), nil
}

func (p *program) sessions(w *stream.Sessions[value, value], f *fold, opts []stream.WindowOption) (*windowTable, error) {
	merge, err := combine(p.Params.SessionMerger)
	if err != nil {
		return nil, err
	}
	switch {
	case f.count:
		return w.Count(opts...).MapValues(number).ValueSerde(valueSerde()), nil
	case f.reduce != nil:
		return w.Reduce(f.reduce, opts...), nil
	}
	return w.Aggregate(func() value { return f.init }, f.of(""), func(_, a, b value) value { return merge(a, b) }, opts...).ValueSerde(valueSerde()), nil
}

// emit is the policy of the parameters.
func (p *program) emit() (stream.WindowOption, error) {
	switch p.Params.Emit {
	case "on_update":
		if p.cached() {
			return stream.OnCheckpoint, nil
		}
		return stream.OnUpdate, nil
	case "on_close":
		return stream.OnClose, nil
	}
	return nil, unknown("emit", p.Params.Emit)
}

func windowedAggregate(p *program) error {
	emit, err := p.emit()
	if err != nil {
		return err
	}
	t, err := p.windowed(p.stream(p.anySide()), "aggregate", emit)
	if err != nil {
		return err
	}
	if len(p.States) > 0 {
		p.stateWindows("out", t)
		return nil
	}
	switch p.Params.Topology {
	case "", "group by value (repartition), then window":
		p.outWindows("out", t)
	case `count per window of the original key, then toStream with key = original key + "@" + window start`,
		`count per tumbling window, then toStream with key = original key + "@" + window start`:
		p.out("out", t.ToStream().Map(func(k window.Key[value], n value) (value, value) {
			return text(fmt.Sprintf("%s@%d", k.Key, k.Span.Start().UnixMilli())), n
		}))
	default:
		return unknown("topology", p.Params.Topology)
	}
	return nil
}

func joinOfWindows(p *program) error {
	emit, err := p.emit()
	if err != nil {
		return err
	}
	join, err := joiner(p.Params.Joiner)
	if err != nil {
		return err
	}
	left, err := p.windowed(p.stream("left"), "left-aggregate", emit)
	if err != nil {
		return err
	}
	right, err := p.windowed(p.stream("right"), "right-aggregate", emit)
	if err != nil {
		return err
	}
	p.outWindows("table_left", left)
	p.outWindows("table_right", right)
	p.outWindows("joined", left.Join(right, join, stream.OnUpdate).ValueSerde(valueSerde()))
	return nil
}

func windowsOfJoin(p *program) error {
	emit, err := p.emit()
	if err != nil {
		return err
	}
	join, err := joiner(p.Params.Join.Joiner)
	if err != nil {
		return err
	}
	p.together = true
	within := window.Between(ms(p.Params.Join.Before), ms(p.Params.Join.After)).Grace(ms(p.Params.Join.Grace))
	t, err := p.windowed(p.stream("left").Join(p.stream("right"), within, join), "aggregate", emit)
	if err != nil {
		return err
	}
	p.outWindows("out", t)
	return nil
}

// untilWindowClose: weir has no suppress. Of a windowed aggregate it is the policy OnClose.
func untilWindowClose(p *program) error {
	if p.Params.Window == nil {
		return errNoCounterpart
	}
	raw, err := p.windowed(p.stream("in"), "raw", stream.OnUpdate)
	if err != nil {
		return err
	}
	suppressed, err := p.windowed(p.stream("in"), "suppressed", stream.OnClose)
	if err != nil {
		return err
	}
	p.outWindows("raw", raw)
	p.outWindows("suppressed", suppressed)
	p.final = "suppressed"
	return nil
}

// cogrouped starts the aggregate of all sides, in the order in which they first have a record.
func (p *program) cogrouped(words string) (*stream.Cogrouped[value, value], *fold, error) {
	f, err := parseFold(words)
	if err != nil {
		return nil, nil, err
	}
	p.together = true
	var c *stream.Cogrouped[value, value]
	for _, side := range p.sides("three") {
		g := p.stream(side).GroupByKey()
		if c == nil {
			c = g.Cogroup(f.of(side))
		} else {
			c = c.And(g, f.of(side))
		}
	}
	return c, f, nil
}

// sides are those of the inputs without some.
func (p *program) sides(without string) (sides []string) {
	seen := map[string]bool{"": true, without: true}
	for _, in := range p.Inputs {
		if !seen[in.Side] {
			seen[in.Side] = true
			sides = append(sides, in.Side)
		}
	}
	return sides
}

func cogroup(p *program) error {
	c, f, err := p.cogrouped(p.Params.Aggregators)
	if err != nil {
		return err
	}
	p.outTable("out", c.Aggregate(func() value { return f.init }, stream.OnUpdate).ValueSerde(valueSerde()))
	return nil
}

func cogroupAndJoin(p *program) error {
	c, f, err := p.cogrouped(p.Params.Aggregators)
	if err != nil {
		return err
	}
	join, err := joiner(p.Params.Joiner)
	if err != nil {
		return err
	}
	left := c.Aggregate(func() value { return f.init }, stream.OnUpdate).ValueSerde(valueSerde())
	p.outTable("out", left.Join(p.table("three", "unversioned"), join, stream.OnUpdate).ValueSerde(valueSerde()))
	return nil
}

func cogroupWindows(p *program) error {
	words := p.Params.Aggregators
	if words == "" {
		words = p.Params.Aggregation
	}
	c, f, err := p.cogrouped(words)
	if err != nil {
		return err
	}
	init := func() value { return f.init }
	if p.Params.Window.Type == "session" {
		merge, err := combine(p.Params.SessionMerger)
		if err != nil {
			return err
		}
		p.outWindows("out", c.AggregateSession(p.Params.Window.session(), init,
			func(_, a, b value) value { return merge(a, b) }, stream.OnUpdate).ValueSerde(valueSerde()))
		return nil
	}
	spec, err := p.Params.Window.spec()
	if err != nil {
		return err
	}
	p.outWindows("out", c.AggregateWindow(spec, init, stream.OnUpdate).ValueSerde(valueSerde()))
	return nil
}
