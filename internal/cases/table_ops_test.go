package cases

import (
	"errors"
	"strings"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/stream"
)

// errNoCounterpart is of an operation that weir has no operator for: such a case is a difference.
var errNoCounterpart = errors.New("weir has no operator for it")

func noCounterpart(*program) error { return errNoCounterpart }

func tableOperations() map[string]func(p *program) error {
	return map[string]func(p *program) error{
		"table.source":                                       tableSource,
		"table.to_stream":                                    tableToStream,
		"table.to_stream(map keys)":                          tableMapKeys,
		"table.filter":                                       tableFilter,
		"table.map_values":                                   tableMapValues,
		"table.map_values.filter":                            tableChain,
		"table.transform_values":                             noCounterpart,
		"table.transform_values + table.group_by.reduce":     noCounterpart,
		"table.group_by.aggregate":                           tableAggregate,
		"table.group_by.count":                               tableCount,
		"table.group_by.reduce":                              tableReduce,
		"suppress.until_time_limit":                          noCounterpart,
		"suppress.until_time_limit + table_table_join.outer": noCounterpart,
	}
}

// global is a table that every task holds whole.
func (p *program) global(side string) *stream.Global[value, value] {
	p.extra = append(p.extra, side)
	return p.b.Global(kafka.Source(side, valueSerde(), valueSerde()))
}

// updates asserts a table's updates, with old values where the case says so.
func (p *program) updates(name string, t *stream.Table[value, value]) {
	if on := p.Params.SendsOld; on != nil && *on {
		p.outChanges(name, t)
		return
	}
	p.outTable(name, t)
}

func tableSource(p *program) error {
	p.updates("out", p.table("table", p.Params.SourceStore))
	return nil
}

func tableToStream(p *program) error {
	p.outTable("out", p.table("table", p.Params.SourceStore))
	return nil
}

func tableMapKeys(p *program) error {
	names := map[string]string{}
	for _, pair := range strings.Split(p.Params.KeyMapper, ", ") {
		from, to, ok := strings.Cut(pair, "->")
		if !ok {
			return unknown("key_mapper", p.Params.KeyMapper)
		}
		names[from] = to
	}
	p.out("out", p.table("table", "unversioned").ToStream().SelectKey(func(k, _ value) value { return text(names[k.String()]) }))
	return nil
}

func tableFilter(p *program) error {
	var keep func(k, v value) bool
	switch p.Params.Predicate {
	case "value is even":
		keep = func(_, v value) bool { return v.int()%2 == 0 }
	case `value is "accept"`:
		keep = func(_, v value) bool { return v.String() == "accept" }
	default:
		return unknown("predicate", p.Params.Predicate)
	}
	source := p.table("table", p.Params.SourceStore)
	p.updates("source", source)
	p.updates("filter", source.Filter(keep))
	return nil
}

func tableMapValues(p *program) error {
	var f func(v value) value
	switch p.Params.Mapper {
	case "first character as digit":
		f = func(v value) value { return value(v.String()[:1]) }
	case "parse integer":
		f = func(v value) value { return number(v.int()) }
	default:
		return unknown("mapper", p.Params.Mapper)
	}
	p.updates("out", p.table("table", "unversioned").MapValues(f))
	return nil
}

// tableChain: mapValues, filter, and a copy of the source through a topic.
func tableChain(p *program) error {
	source := p.table("table", "unversioned")
	mapped := source.MapValues(func(v value) value { return number(v.int()) })
	p.outTable("source", source)
	p.outTable("map_values", mapped)
	p.outTable("filter", mapped.Filter(func(_, v value) bool { return v.int()%2 == 0 }))
	source.To(kafka.Sink("topic2", valueSerde(), valueSerde()))
	p.outTable("source_again", p.table("topic2", "unversioned"))
	return nil
}

// rowsBy groups the rows of the source table as the words say.
func (p *program) rowsBy() (*stream.GroupedTable[value, value], error) {
	t := p.table("table", p.Params.SourceStore)
	words, _, _ := strings.Cut(p.Params.GroupBy, ", key type")
	switch words {
	case "(key, value) unchanged":
		return t.GroupBy(func(k, v value) (value, value) { return k, v }), nil
	case "(value, value)":
		return t.GroupBy(func(_, v value) (value, value) { return v, v }), nil
	case "(key, integer part of value)":
		return t.GroupBy(func(k, v value) (value, value) { return k, number(v.int()) }), nil
	case `key "null" -> (null, value); key "NULL" -> no pair at all; otherwise (value, value)`:
		t = t.Filter(func(k, _ value) bool { return !strings.EqualFold(k.String(), "null") })
		return t.GroupBy(func(_, v value) (value, value) { return v, v }), nil
	}
	return nil, unknown("group_by", p.Params.GroupBy)
}

func tableAggregate(p *program) error {
	g, err := p.rowsBy()
	if err != nil {
		return err
	}
	add, err := parse(p.Params.Adder)
	if err != nil {
		return err
	}
	sub, err := parse(p.Params.Subtractor)
	if err != nil {
		return err
	}
	apply := func(e expression) func(_, v, agg value) value {
		return func(_, v, agg value) value { return e.eval(map[string]value{"agg": agg, "value": v}) }
	}
	t := g.KeySerde(valueSerde()).ValueSerde(valueSerde()).
		Aggregate(func() value { return value(p.Params.Initializer) }, apply(add), apply(sub), stream.OnUpdate).ValueSerde(valueSerde())
	p.rowsOrUpdates(t)
	return nil
}

func tableCount(p *program) error {
	g, err := p.rowsBy()
	if err != nil {
		return err
	}
	p.rowsOrUpdates(g.KeySerde(valueSerde()).ValueSerde(valueSerde()).Count(stream.OnUpdate).MapValues(number))
	return nil
}

func tableReduce(p *program) error {
	g, err := p.rowsBy()
	if err != nil {
		return err
	}
	add, err := combine(p.Params.Adder)
	if err != nil {
		return err
	}
	sub, err := combine(p.Params.Subtractor)
	if err != nil {
		return err
	}
	p.rowsOrUpdates(g.KeySerde(valueSerde()).ValueSerde(valueSerde()).Reduce(add, sub, stream.OnUpdate))
	return nil
}

// rowsOrUpdates asserts what the case speaks of.
func (p *program) rowsOrUpdates(t *stream.Table[value, value]) {
	if len(p.States) > 0 {
		p.state("out", t)
		return
	}
	p.outTable("out", t)
}
