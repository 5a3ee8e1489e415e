package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

var errBad = errors.New("a bad record")

// misdeeds are the ways in which a user function gives up on a record.
var misdeeds = map[string]func(){
	"reject": func() { stream.Reject(errBad) },
	"panic":  func() { panic(errBad) },
}

// bad is the value that user functions of these tests do not take.
const bad = 13

// operators puts each operator that runs user code into a chain; do is called for a bad value.
func operators(do func()) map[string]func(s *stream.Stream[string, int], p stream.Option) *stream.Stream[string, int] {
	check := func(v int) int {
		if v == bad {
			do()
		}
		return v
	}
	type chain = *stream.Stream[string, int]
	return map[string]func(s chain, p stream.Option) chain{
		"map": func(s chain, p stream.Option) chain {
			return s.Map(func(k string, v int) (string, int) { return k, check(v) }, p)
		},
		"map-values": func(s chain, p stream.Option) chain { return s.MapValues(check, p) },
		"try-map-values": func(s chain, p stream.Option) chain {
			return s.TryMapValues(func(v int) (int, error) { return check(v), nil }, p)
		},
		"flat-map": func(s chain, p stream.Option) chain {
			return s.FlatMap(func(k string, v int, emit func(string, int)) { emit(k, check(v)) }, p)
		},
		"flat-map-values": func(s chain, p stream.Option) chain {
			return s.FlatMapValues(func(v int) []int { return []int{check(v)} }, p)
		},
		"filter": func(s chain, p stream.Option) chain {
			return s.Filter(func(_ string, v int) bool { check(v); return true }, p)
		},
		"select-key": func(s chain, p stream.Option) chain {
			return s.SelectKey(func(k string, v int) string { check(v); return k }, p)
		},
		"peek": func(s chain, p stream.Option) chain { return s.Peek(func(_ string, v int) { check(v) }, p) },
		"transform": func(s chain, p stream.Option) chain {
			return s.Transform(func(r stream.Record[string, int], emit func(stream.Record[string, int])) error {
				check(r.Value)
				emit(r)
				return nil
			}, p)
		},
		"transform-values": func(s chain, p stream.Option) chain {
			return s.TransformValues(func(r stream.Record[string, int]) (int, error) { return check(r.Value), nil }, p)
		},
		"reduce": func(s chain, p stream.Option) chain {
			return s.GroupByKey().Reduce(func(_, b int) int { return check(b) }, stream.OnUpdate, p).ToStream()
		},
		"aggregate": func(s chain, p stream.Option) chain {
			return s.GroupByKey().Aggregate(func() int { return 0 }, func(_ string, v, _ int) int { return check(v) }, stream.OnUpdate, p).ToStream()
		},
	}
}

// A stage is an app with one operator, and a branch beside it that must not notice anything.
type stage struct {
	d           *streamtest.Driver
	in          *streamtest.In[string, int]
	out, beside *streamtest.Out[string, int]

	counted counts
}

func newStage(t *testing.T, op func(s *stream.Stream[string, int], p stream.Option) *stream.Stream[string, int], p stream.Policy) *stage {
	b := stream.New("policies")
	src := b.Source(kafka.Source("in", serde.String, serde.JSON[int]()))
	op(src, stream.OnError(p)).To(memory.Collect[string, int]("out"))
	src.To(memory.Collect[string, int]("beside"))
	s := &stage{counted: counts{}}
	s.d = streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Metrics = s.counted }))
	s.in, s.out, s.beside = s.d.In[string, int]("in"), s.d.Out[string, int]("out"), s.d.Out[string, int]("beside")
	return s
}

// send sends a good value, a bad one and another good one.
func (s *stage) send() {
	s.in.SendRecord(rec("k", 1, 1))
	s.in.SendRecord(rec("k", bad, 2))
	s.in.SendRecord(rec("k", 3, 3))
}

func TestSkip(t *testing.T) {
	for how, do := range misdeeds {
		for name, op := range operators(do) {
			t.Run(name+"/"+how, func(t *testing.T) {
				s := newStage(t, op, stream.Skip)
				s.send()
				same(t, show(s.out.Read()), "k=1@1", "k=3@3")
				same(t, show(s.beside.Read()), "k=1@1", fmt.Sprintf("k=%d@2", bad), "k=3@3")
				if n := s.counted.of("weir_rejected_total", name); n != 1 {
					t.Errorf("counted %d: %v", n, s.counted)
				}
			})
		}
	}
}

func TestFailNamesNodeAndRecord(t *testing.T) {
	for how, do := range misdeeds {
		for name, op := range operators(do) {
			t.Run(name+"/"+how, func(t *testing.T) {
				s := newStage(t, op, stream.Fail)
				s.send()
				err := s.d.Err()
				var e *stream.Error
				if !errors.As(err, &e) || !errors.Is(err, errBad) {
					t.Fatalf("got %v", err)
				}
				if !strings.Contains(e.Node, name) || e.Task == "" || e.Origin.Topic != "in" || e.Origin.Offset != 1 {
					t.Errorf("node %q, task %q, origin %v", e.Node, e.Task, e.Origin)
				}
				if (len(e.Stack) > 0) != (how == "panic") {
					t.Errorf("stack: %s", e.Stack)
				}
			})
		}
	}
}

func TestDecideSeesTheErrorAndPicks(t *testing.T) {
	for name, op := range operators(misdeeds["reject"]) {
		t.Run(name, func(t *testing.T) {
			var seen []*stream.Error
			s := newStage(t, op, stream.Decide(func(e *stream.Error) stream.Policy {
				seen = append(seen, e)
				return stream.Skip
			}))
			s.send()
			same(t, show(s.out.Read()), "k=1@1", "k=3@3")
			if len(seen) != 1 || !errors.Is(seen[0], errBad) || seen[0].Origin.Offset != 1 {
				t.Errorf("decided about %v", seen)
			}
		})
	}
}

func TestDecideThatPicksNothingFails(t *testing.T) {
	s := newStage(t, operators(misdeeds["reject"])["map-values"], stream.Decide(func(*stream.Error) stream.Policy { return nil }))
	s.send()
	if err := s.d.Err(); !errors.Is(err, errBad) {
		t.Errorf("got %v", err)
	}
}

func TestDeadLettersOfEveryOperator(t *testing.T) {
	for name, op := range operators(misdeeds["reject"]) {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, op, stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))
			dead := s.d.Out[[]byte, []byte]("dead")
			s.send()
			same(t, show(s.out.Read()), "k=1@1", "k=3@3")
			got := dead.Read()
			if len(got) != 1 {
				t.Fatalf("letters: %v", got)
			}
			want, _ := serde.JSON[int]().Append(nil, bad)
			if string(got[0].Key) != "k" || string(got[0].Value) != string(want) || !got[0].Time.Equal(rec("k", 0, 2).Time) {
				t.Errorf("got %v", got[0])
			}
			for header, want := range map[string]string{"weir.topic": "in", "weir.partition": "0", "weir.offset": "1", "weir.error": errBad.Error()} {
				if v, _ := got[0].Headers.Get(header); v != want {
					t.Errorf("%s is %q, want %q", header, v, want)
				}
			}
		})
	}
}

// Behind a local exchange a record has no bytes of its own: its letter has it as the repartition would have.
func TestDeadLetterBehindAnExchange(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		t.Run(fmt.Sprint(exchange), func(t *testing.T) {
			b := stream.New("letters")
			b.Source(kafka.Source("in", serde.String, serde.JSON[int]())).
				GroupBy(func(k string, _ int) string { return k }).
				Reduce(func(_, v int) int {
					if v == bad {
						stream.Reject(errBad)
					}
					return v
				}, stream.OnUpdate, stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))).
				To(kafka.Sink("out", serde.String, serde.JSON[int]()))
			d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
			in, out, dead := d.In[string, int]("in"), d.Out[string, int]("out"), d.Out[[]byte, []byte]("dead")
			in.SendRecord(rec("k", 1, 1))
			in.SendRecord(rec("k", bad, 2))
			in.SendRecord(rec("k", 3, 3))
			same(t, show(out.Read()), "k=1@1", "k=3@3")
			got := dead.Read()
			if len(got) != 1 {
				t.Fatalf("letters: %v", got)
			}
			want, _ := serde.JSON[int]().Append(nil, bad)
			if string(got[0].Key) != "k" || string(got[0].Value) != string(want) {
				t.Errorf("got %q and %q, want %q and %q", got[0].Key, got[0].Value, "k", want)
			}
			if topic, _ := got[0].Headers.Get("weir.topic"); !strings.Contains(topic, "repartition") {
				t.Errorf("topic %q", topic)
			}
		})
	}
}

// A rejected record must leave the accumulator as it was, even one that was changed in place before.
func TestARejectedAggregateIsUndone(t *testing.T) {
	b := stream.New("undo")
	fed[string, int](b, "in").GroupByKey().
		Aggregate(func() map[int]bool { return map[int]bool{} }, func(_ string, v int, seen map[int]bool) map[int]bool {
			seen[v] = true
			if v == bad {
				stream.Reject(errBad)
			}
			return seen
		}, stream.OnUpdate, stream.OnError(stream.Skip)).
		To(memory.Collect[string, map[int]bool]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, int]("in"), d.Out[string, map[int]bool]("out")
	in.SendRecord(rec("k", 1, 1))
	in.SendRecord(rec("k", bad, 2))
	in.SendRecord(rec("k", 3, 3))
	same(t, show(out.Read()), "k=map[1:true]@1", "k=map[1:true 3:true]@3")
}

// The policy of the configuration is that of nodes without one of their own.
func TestDefaultPolicy(t *testing.T) {
	b := stream.New("default")
	fed[string, int](b, "in").
		MapValues(func(v int) int {
			if v == bad {
				stream.Reject(errBad)
			}
			return v
		}).
		To(memory.Collect[string, int]("out"))
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.OnError = stream.Skip }))
	in, out := d.In[string, int]("in"), d.Out[string, int]("out")
	in.SendRecord(rec("k", bad, 1))
	in.SendRecord(rec("k", 1, 2))
	same(t, show(out.Read()), "k=1@2")
}

// An error of ForEach is its own; a failing node downstream is not blamed on the one before it.
func TestTheFailingNodeDecides(t *testing.T) {
	b := stream.New("blame")
	s := fed[string, int](b, "in").MapValues(func(v int) int { return v }, stream.OnError(stream.Skip))
	s.ForEach(func(r stream.Record[string, int]) error {
		if r.Value == bad {
			return errBad
		}
		return nil
	}, stream.Named("last"))
	d := streamtest.New(t, b)
	in := d.In[string, int]("in")
	in.SendRecord(rec("k", bad, 1))
	var e *stream.Error
	if err := d.Err(); !errors.As(err, &e) || e.Node != "last" {
		t.Errorf("got %v", err)
	}
}
