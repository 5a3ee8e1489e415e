package cases

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

// streamOperations are those without state.
func streamOperations() map[string]func(p *program) error {
	return map[string]func(p *program) error{
		"stream.filter_not":                   filterNot,
		"stream.map":                          mapNull,
		"stream.flat_map":                     flatMapNull,
		"stream.map_values":                   mapValuesWithKey,
		"stream.flat_map_values":              flatMapValuesWithKey,
		"stream.peek + stream.for_each":       peek,
		"stream.split":                        split,
		"stream.repartition":                  repartition,
		"repartition":                         repartitionTwice,
		"processor.forward":                   forward,
		"processor.forward + own input topic": recursion,
		"sink_then_source":                    chain,
		"error_handler.processing":            errorHandler,
		"task.record_choice":                  recordChoice,
		"task.idling":                         idling,
		"stream.group_by.count":               groupByCount,
		"stream.group_by.reduce":              groupByReduce,
		"stream.group_by_key.reduce":          groupByKeyReduce,
	}
}

func unknown(what, words string) error { return fmt.Errorf("the %s %q is not understood", what, words) }

func filterNot(p *program) error {
	if p.Params.Predicate != "key % 3 == 0" {
		return unknown("predicate", p.Params.Predicate)
	}
	p.out("out", p.stream("stream").FilterNot(func(k, _ value) bool { return k.int()%3 == 0 }))
	return nil
}

// mapNull: a mapper that returns null. Ours returns values, so that cannot be written; the nearest is giving the record up, which
// by default stops the app as well.
func mapNull(p *program) error {
	if p.Params.Mapper != "returns null" {
		return unknown("mapper", p.Params.Mapper)
	}
	p.out("out", p.stream("stream").Map(func(k, v value) (value, value) { stream.Reject(errNull); return k, v }))
	return nil
}

var errNull = errors.New("the mapper returned null")

func flatMapNull(p *program) error {
	if p.Params.Mapper != "returns null" {
		return unknown("mapper", p.Params.Mapper)
	}
	p.out("out", p.stream("stream").FlatMap(func(k, v value, emit func(value, value)) { stream.Reject(errNull) }))
	return nil
}

// mapValuesWithKey: values with a look at the key are TransformValues.
func mapValuesWithKey(p *program) error {
	if p.Params.Mapper != "length(value) + key" {
		return unknown("mapper", p.Params.Mapper)
	}
	p.out("out", p.stream("stream").TransformValues(func(r stream.Record[value, value]) (value, error) {
		return number(int64(len(r.Value.String())) + r.Key.int()), nil
	}))
	return nil
}

func flatMapValuesWithKey(p *program) error {
	if p.Params.Mapper != `"v"+value, "k"+key` {
		return unknown("mapper", p.Params.Mapper)
	}
	p.out("out", p.stream("stream").
		TransformValues(func(r stream.Record[value, value]) ([]value, error) {
			return []value{text("v" + r.Value.String()), text("k" + r.Key.String())}, nil
		}).
		FlatMapValues(func(vs []value) []value { return vs }))
	return nil
}

// peek: both actions are outputs. They are collected where they happen.
func peek(p *program) error {
	saw := func(name string) func(k, v value) {
		var seen []record
		p.outs[name] = &outlet{open: nothingToOpen(func() []record { out := seen; seen = nil; return out })}
		return func(k, v value) { seen = append(seen, record{key: k, value: v}) }
	}
	peeked, each := saw("peek"), saw("each")
	p.stream("stream").Peek(peeked).ForEach(func(r stream.Record[value, value]) error { each(r.Key, r.Value); return nil })
	return nil
}

func split(p *program) error {
	if p.Params.Default != "none" {
		return unknown("default", p.Params.Default)
	}
	b := p.stream("stream").Split()
	var same *stream.Stream[value, value]
	for _, words := range p.Params.Branches {
		name, rule := "out", words
		if before, after, ok := strings.Cut(words, ": "); ok {
			name, rule = before, after
		} else if rule, ok = strings.CutSuffix(words, " -> output"); !ok {
			return unknown("branch", words)
		}
		by := int64(2)
		if rule != "key even" {
			if _, err := fmt.Sscanf(rule, "key %% %d == 0", &by); err != nil {
				return unknown("branch", words)
			}
		}
		branch := b.When("by-"+fmt.Sprint(by), func(k, _ value) bool { return k.int()%by == 0 })
		switch {
		case name != "out":
			p.out(name, branch)
		case same == nil:
			same = branch
		default:
			same = same.Merge(branch)
		}
	}
	if same != nil {
		p.out("out", same)
	}
	return nil
}

// repartition: ours has no partitioner of its own; that key, value and time pass is all that is asserted.
func repartition(p *program) error {
	in := p.stream("stream")
	if p.Params.Outputs != "" {
		p.out("direct", in)
		p.out("through", in.Repartition())
		return nil
	}
	if p.Params.Partitioner != "always partition 1" {
		return unknown("partitioner", p.Params.Partitioner)
	}
	p.out("out", in.Repartition(stream.Partitions(2)))
	return nil
}

func repartitionTwice(p *program) error {
	p.out("out", p.stream("left").Repartition(stream.Named("first")).Repartition(stream.Named("second")))
	return nil
}

// forward: a processor that forwards to its children, with times of its own.
func forward(p *program) error {
	in := p.stream("in")
	if p.Params.Processor == "" {
		p.out("out", in.Transform(func(r stream.Record[value, value], emit func(stream.Record[value, value])) error { emit(r); return nil }))
		return nil
	}
	type sent struct {
		stream.Record[value, value]
		first, second bool
	}
	split := in.Transform(func(r stream.Record[value, value], emit func(stream.Record[value, int])) error {
		later := func(n int64) stream.Record[value, value] { return r.WithTime(r.Time.Add(ms(n))) }
		for _, s := range []sent{{r, true, true}, {later(5), true, false}, {r, false, true}, {later(2), true, true}} {
			to := 0
			if s.first {
				to |= 1
			}
			if s.second {
				to |= 2
			}
			emit(s.Record.WithValue(to))
		}
		return nil
	})
	child := func(bit int, by int64) *stream.Stream[value, value] {
		return split.Filter(func(_ value, to int) bool { return to&bit != 0 }).
			Transform(func(r stream.Record[value, int], emit func(stream.Record[value, value])) error {
				emit(r.WithTime(r.Time.Add(ms(by))).WithValue(text("value" + strings.TrimPrefix(r.Key.String(), "key"))))
				return nil
			})
	}
	p.out("out1", child(1, 0))
	p.out("out2", child(2, 10))
	return nil
}

// recursion: what is written to the topology's own input.
func recursion(p *program) error {
	in := p.stream("in")
	in.Filter(func(_, v value) bool { return !strings.HasPrefix(v.String(), "recurse-") }).
		MapValues(func(v value) value { return text("recurse-" + v.String()) }).
		To(kafka.Sink("in", valueSerde(), valueSerde()))
	p.out("out", in)
	return nil
}

// chain: a topic that the topology writes and reads.
func chain(p *program) error {
	p.stream("in").To(kafka.Sink("out1", valueSerde(), valueSerde()))
	p.out("out2", p.stream("out1"))
	return nil
}

// errorHandler: CONTINUE is Skip; a handler that fails itself is Fail.
func errorHandler(p *program) error {
	var policy stream.Policy
	switch p.Params.Handler {
	case "CONTINUE":
		policy = stream.Skip
	case "throws":
		policy = stream.Decide(func(*stream.Error) stream.Policy { return nil })
	default:
		return unknown("handler", p.Params.Handler)
	}
	bad := errors.New("the key contains ERR")
	p.out("out", p.stream("in").Transform(func(r stream.Record[value, value], emit func(stream.Record[value, value])) error {
		if strings.Contains(r.Key.String(), "ERR") {
			return bad
		}
		emit(r)
		return nil
	}, stream.OnError(policy)))
	return nil
}

// recordChoice: everything is buffered before processing starts, in two inputs of one task.
func recordChoice(p *program) error {
	p.preloaded = true
	source := func(side string) *stream.Stream[value, value] {
		return p.b.Source(memory.From(side, func(yield func(stream.Record[value, value]) bool) {
			for _, in := range p.Inputs {
				if in.Side == side && !yield(stream.Record[value, value]{Key: in.Key, Value: in.Value, Time: time.UnixMilli(*in.TS)}) {
					return
				}
			}
		}))
	}
	source("p1").Merge(source("p2")).ForEach(func(r stream.Record[value, value]) error {
		ts := r.Time.UnixMilli()
		p.order = append(p.order, record{key: r.Key, value: r.Value, ts: &ts})
		return nil
	})
	return nil
}

// idling: waiting for empty inputs. Ours waits by facts, not by a time.
func idling(p *program) error {
	p.out("out", p.stream("in1").Merge(p.stream("in2")))
	return nil
}

func groupByCount(p *program) error {
	g, err := p.grouped(p.stream("stream"))
	if err != nil {
		return err
	}
	p.outTable("out", g.Count(stream.OnUpdate).MapValues(number))
	return nil
}

func groupByReduce(p *program) error {
	g, err := p.grouped(p.stream("stream"))
	if err != nil {
		return err
	}
	f, err := combine(p.Params.Reducer)
	if err != nil {
		return err
	}
	p.outTable("out", g.Reduce(f, stream.OnUpdate))
	return nil
}

func groupByKeyReduce(p *program) error {
	f, err := combine(p.Params.Reducer)
	if err != nil {
		return err
	}
	p.state("out", p.stream("stream").GroupByKey().Reduce(f, stream.OnUpdate))
	return nil
}

// grouped is a stream grouped as the words say.
func (p *program) grouped(s *stream.Stream[value, value]) (*stream.Grouped[value, value], error) {
	switch p.Params.GroupBy {
	case "value (repartition)":
		return s.GroupBy(func(_, v value) value { return v }).KeySerde(valueSerde()), nil
	case "":
		return s.GroupByKey(), nil
	}
	return nil, unknown("group_by", p.Params.GroupBy)
}
