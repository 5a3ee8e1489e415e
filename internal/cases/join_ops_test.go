package cases

import (
	"strings"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

func joinOperations() map[string]func(p *program) error {
	all := map[string]func(p *program) error{
		"stream_stream_join.inner":       streamJoin("inner"),
		"stream_stream_join.left":        streamJoin("left"),
		"stream_stream_join.outer":       streamJoin("outer"),
		"stream_stream_join.inner(self)": streamJoin("self"),
		"stream_table_join.inner":        streamTableJoin(true),
		"stream_table_join.left":         streamTableJoin(false),
		"stream_globaltable_join.inner":  globalJoin(true),
		"stream_globaltable_join.left":   globalJoin(false),
		"foreign_key_join.inner":         foreignKeyJoin(true),
		"foreign_key_join.left":          foreignKeyJoin(false),
	}
	kinds := []string{"inner", "left", "outer"}
	for _, first := range kinds {
		all["table_table_join."+first] = tableJoin(first)
		for _, second := range kinds {
			all["table_table_join."+first+"_then_"+second] = tableJoinTwice(first, second)
		}
	}
	return all
}

// sidesOf puts an absent side as "" into a joiner.
func outerJoiner(f func(left, right value) value) func(l, r value, m stream.Match) value {
	return func(l, r value, m stream.Match) value {
		switch m {
		case stream.LeftOnly:
			r = ""
		case stream.RightOnly:
			l = ""
		}
		return f(l, r)
	}
}

func leftJoiner(f func(left, right value) value) func(l, r value, ok bool) value {
	return func(l, r value, ok bool) value {
		if !ok {
			r = ""
		}
		return f(l, r)
	}
}

// streamJoin: two streams, perhaps repartitioned before.
func streamJoin(kind string) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		p.together = true
		left, right := p.stream("left"), p.stream("left")
		if kind != "self" {
			right = p.stream("right")
		}
		switch p.Params.Topology {
		case "", "S = source(left); out = S.join(S)":
		case "left.map(identity) joined with right.flatMap(identity).selectKey(key)":
			left = nullKeyed(left.Map(func(k, v value) (value, value) { return k, v }))
			right = nullKeyed(right.FlatMap(func(k, v value, emit func(k, v value)) { emit(k, v) })).SelectKey(func(k, _ value) value { return k })
		case "both sides go through an explicit repartition first":
			left, right = left.Repartition(), right.Repartition()
		default:
			return unknown("topology", p.Params.Topology)
		}
		w := window.Between(ms(p.Params.Before), ms(p.Params.After)).Grace(ms(p.Params.Grace))
		var out *stream.Stream[value, value]
		switch kind {
		case "left":
			out = left.LeftJoin(right, w, leftJoiner(f))
		case "outer":
			out = left.OuterJoin(right, w, outerJoiner(f))
		default:
			out = left.Join(right, w, f)
		}
		p.out("out", p.withKey(out))
		return nil
	}
}

// nullKeyed is here to say it: Map gives every record a key, where Kafka Streams' keeps a null one.
func nullKeyed(s *stream.Stream[value, value]) *stream.Stream[value, value] { return s }

// withKey puts the key in front of the value, for joiners that look at it.
func (p *program) withKey(s *stream.Stream[value, value]) *stream.Stream[value, value] {
	if p.Params.Joiner != withKey {
		return s
	}
	return s.Map(func(k, v value) (value, value) { return k, text(k.String() + ":" + v.String()) })
}

func streamTableJoin(inner bool) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		var s *stream.Stream[value, value]
		var t *stream.Table[value, value]
		switch p.Params.Topology {
		case "":
			s, t = p.stream("stream"), p.table("table", p.Params.TableStore)
		case "left stream repartitioned; table = right stream .toTable()":
			s, t = p.stream("left").Repartition(), p.stream("right").ToTable()
		default:
			return unknown("topology", p.Params.Topology)
		}
		var opts []stream.JoinTableOption
		if p.Params.Grace > 0 {
			opts = append(opts, stream.WaitFor(ms(p.Params.Grace)))
			p.follows = true
		}
		if inner {
			p.out("out", p.withKey(s.JoinTable(t, f, opts...)))
		} else {
			p.out("out", p.withKey(s.LeftJoinTable(t, leftJoiner(f), opts...)))
		}
		return nil
	}
}

func globalJoin(inner bool) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		key, err := keySelector(p.Params.KeySelector)
		if err != nil {
			return err
		}
		stream, table := p.globalSides()
		s := p.stream(stream)
		if strings.HasPrefix(p.Params.Topology, "left stream repartitioned") {
			s = s.Repartition()
		}
		g := p.global(table)
		if inner {
			p.out("out", p.withKey(s.JoinGlobal(g, key, f)))
		} else {
			p.out("out", p.withKey(s.LeftJoinGlobal(g, key, leftJoiner(f))))
		}
		return nil
	}
}

// globalSides are the names of the two inputs.
func (p *program) globalSides() (stream, table string) {
	for _, in := range p.Inputs {
		if in.Side == "left" || in.Side == "right" {
			return "left", "right"
		}
	}
	return "stream", "table"
}

func keySelector(words string) (func(k, v value) (value, bool), error) {
	switch words {
	case "always returns null":
		return func(_, _ value) (value, bool) { return "", false }, nil
	case "stream record key":
		return func(k, _ value) (value, bool) { return k, k != "" }, nil
	case "stream value":
		return func(_, v value) (value, bool) { return v, v != "" }, nil
	case "second comma-separated token of the stream value, or null when there is none":
		return func(_, v value) (value, bool) {
			tokens := strings.Split(v.String(), ",")
			if len(tokens) < 2 {
				return "", false
			}
			return text(tokens[1]), true
		}, nil
	}
	return nil, unknown("key_selector", words)
}

// joinTables joins two tables in one of three ways.
func joinTables(kind string, left, right *stream.Table[value, value], f func(l, r value) value, name string) *stream.Table[value, value] {
	opts := []stream.TableOption{stream.OnUpdate, stream.Named(name)}
	var t *stream.Table[value, value]
	switch kind {
	case "inner":
		t = left.Join(right, f, opts...)
	case "left":
		t = left.LeftJoin(right, leftJoiner(f), opts...)
	case "outer":
		t = left.OuterJoin(right, outerJoiner(f), opts...)
	}
	return t.ValueSerde(valueSerde())
}

func tableJoin(kind string) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		t := joinTables(kind, p.table("left", p.Params.LeftStore), p.table("right", p.Params.RightStore), f, "joined")
		if on := p.Params.SendsOld; on != nil && *on {
			p.outChanges("out", t)
		} else {
			p.outTable("out", t)
		}
		return nil
	}
}

func tableJoinTwice(first, second string) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		left, right := p.table("left", p.Params.LeftStore), p.table("right", p.Params.RightStore)
		p.outTable("out", joinTables(second, joinTables(first, left, right, f, "first"), right, f, "second"))
		return nil
	}
}

func foreignKeyJoin(inner bool) func(p *program) error {
	return func(p *program) error {
		f, err := joiner(p.Params.Joiner)
		if err != nil {
			return err
		}
		fk, err := foreignKey(p.Params.ForeignKey)
		if err != nil {
			return err
		}
		left, right := p.table("left", p.Params.LeftStore), p.table("right", p.Params.RightStore)
		var t *stream.Table[value, value]
		if inner {
			t = left.JoinOn(right, fk, f, stream.OnUpdate)
		} else {
			t = left.LeftJoinOn(right, fk, leftJoiner(f), stream.OnUpdate)
		}
		t = t.ValueSerde(valueSerde())
		if p.Params.Topology != "" { // x = left FKJOIN right; out = left JOIN x
			p.outTable("out", joinTables("inner", left, t, f, "again"))
			return nil
		}
		p.outTable("out", t)
		if len(p.States) > 0 {
			p.state("out", t)
		}
		if p.Params.Rejoin != "" {
			rejoin := func(a, b value) value { return text("rejoin(" + a.String() + "," + b.String() + ")") }
			kind := "left"
			if inner {
				kind = "inner"
			}
			p.outTable("rejoin", joinTables(kind, t, left, rejoin, "rejoined"))
		}
		return nil
	}
}

func foreignKey(words string) (func(k, v value) (value, bool), error) {
	switch words {
	case `text after "|" in the left value`:
		return func(_, v value) (value, bool) {
			_, fk, ok := strings.Cut(v.String(), "|")
			return text(fk), ok
		}, nil
	case `integer before "-" in the left value`:
		return func(_, v value) (value, bool) {
			fk, _, ok := strings.Cut(v.String(), "-")
			return value(fk), ok
		}, nil
	case "always null":
		return func(_, _ value) (value, bool) { return "", false }, nil
	}
	return nil, unknown("foreign_key", words)
}
