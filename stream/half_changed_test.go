package stream_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// bag is an accumulator that is changed in place.
type bag = map[string]int

// A failing function changes what it was given, and only then finds out that something outside is down, or that the record is bad.
type failing struct {
	fail  error
	spare int // calls that go well before one fails: a record is folded into several spans
	done  int
}

func (f *failing) add(_ string, v string, t bag) bag {
	t[v]++
	if f.fail == nil {
		return t
	}
	if f.done++; f.done > f.spare {
		f.done = 0
		stream.Reject(f.fail)
	}
	return t
}

// leftBehind is in a bag that has c, which is rejected, or something twice.
var leftBehind = regexp.MustCompile(`c:|:[^01]`)

func newTally() bag { return bag{} }

func tallied(t bag) string { return fmt.Sprint(t) }

// TestHalfChangedIsPutBack: a function that has changed its accumulator in place and fails then must find it as it was, when it is called again for the
// same record after an outage, and for the next one after a rejection. Before, the key has been committed, or only memory has it.
func TestHalfChangedIsPutBack(t *testing.T) {
	in := func(b *stream.Builder) *stream.Stream[string, string] {
		return b.Source(kafka.Source("in", serde.String, serde.String))
	}
	out := func(s *stream.Stream[string, string]) { s.To(kafka.Sink("out", serde.String, serde.String)) }
	shapes := map[string]func(b *stream.Builder, f *failing){
		"aggregate": func(b *stream.Builder, f *failing) {
			out(in(b).GroupByKey().Aggregate(newTally, f.add, stream.OnUpdate).ToStream().MapValues(tallied))
		},
		"reduce": func(b *stream.Builder, f *failing) {
			out(in(b).MapValues(func(v string) bag { return bag{v: 1} }).GroupByKey().Reduce(func(a, b bag) bag {
				for v := range b {
					a = f.add("", v, a)
				}
				return a
			}, stream.OnUpdate).ToStream().MapValues(tallied))
		},
		"cogroup": func(b *stream.Builder, f *failing) {
			out(in(b).GroupByKey().Cogroup(f.add).Aggregate(newTally, stream.OnUpdate).ToStream().MapValues(tallied))
		},
		"window": func(b *stream.Builder, f *failing) {
			out(in(b).GroupByKey().Window(window.Tumbling(time.Hour)).Aggregate(newTally, f.add, stream.OnUpdate).ToStream().
				Map(func(k window.Key[string], t bag) (string, string) { return k.Key, tallied(t) }))
		},
		"hopping": func(b *stream.Builder, f *failing) {
			f.spare = 1
			out(in(b).GroupByKey().Window(window.Hopping(time.Hour, 20*time.Minute)).Aggregate(newTally, f.add, stream.OnUpdate).ToStream().
				Map(func(k window.Key[string], t bag) (string, string) { return k.Key, tallied(t) }))
		},
		"sliding": func(b *stream.Builder, f *failing) {
			f.spare = 1 // of the spans with a record, the newest begins with it
			out(in(b).GroupByKey().Window(window.Sliding(time.Hour)).Aggregate(newTally, f.add, stream.OnUpdate).ToStream().
				Map(func(k window.Key[string], t bag) (string, string) { return k.Key, tallied(t) }))
		},
		"panes": func(b *stream.Builder, f *failing) {
			out(in(b).GroupByKey().Window(window.Hopping(time.Hour, 20*time.Minute)).AggregateMerge(newTally, f.add, func(_ string, a, b bag) bag {
				all := maps.Clone(a)
				for v, n := range b {
					all[v] += n
				}
				return all
			}).ToStream().Map(func(k window.Key[string], t bag) (string, string) { return k.Key, tallied(t) }))
		},
		"session": func(b *stream.Builder, f *failing) {
			out(in(b).GroupByKey().Session(window.Session(time.Hour)).Aggregate(newTally, f.add, func(_ string, a, _ bag) bag { return a }, stream.OnUpdate).ToStream().
				Map(func(k window.Key[string], t bag) (string, string) { return k.Key, tallied(t) }))
		},
		"table": func(b *stream.Builder, f *failing) {
			out(in(b).ToTable(stream.OnUpdate).GroupBy(func(k, v string) (string, string) { return "all", v }).
				Aggregate(newTally, f.add, func(_ string, v string, t bag) bag { t[v]--; return t }, stream.OnUpdate).ToStream().MapValues(tallied))
		},
		"table of two rows": func(b *stream.Builder, f *failing) {
			out(in(b).ToTable(stream.OnUpdate).GroupBy(func(k, v string) (string, string) { return "all", v }).
				Aggregate(newTally, f.add, func(_ string, v string, t bag) bag { t[v]--; return t }, stream.OnUpdate).ToStream().MapValues(tallied))
		},
		"process value": func(b *stream.Builder, f *failing) {
			out(in(b).Process(func(p *stream.Processor[string, string, string]) func(stream.Record[string, string]) error {
				v := p.Value("bag", serde.JSON[bag]())
				return func(r stream.Record[string, string]) error {
					t, ok := v.Get()
					if !ok {
						t = bag{}
					}
					t[r.Value]++
					if f.fail != nil {
						return f.fail
					}
					v.Set(t)
					p.Emit(r.Key, tallied(t))
					return nil
				}
			}))
		},
		"process store": func(b *stream.Builder, f *failing) {
			s := stream.NewStore("tallies", serde.String, serde.JSON[bag]())
			out(in(b).Process(func(p *stream.Processor[string, string, string]) func(stream.Record[string, string]) error {
				all := p.Store(s)
				return func(r stream.Record[string, string]) error {
					t, ok := all.Get(r.Key)
					if !ok {
						t = bag{}
					}
					t = f.add("", r.Value, t)
					all.Put(r.Key, t)
					p.Emit(r.Key, tallied(t))
					return nil
				}
			}))
		},
	}
	// What comes out at last, without the record that is rejected and with the one behind it.
	ends := map[string][2]string{
		"table": {"map[a:0 b:1]", "map[a:0 b:0 d:1]"}, "table of two rows": {"map[a:0 b:1 x:1]", "map[a:0 b:0 d:1 x:1]"},
		"sliding": {"map[a:1 b:1 x:1]", "map[a:1 b:1 d:1 x:1]"},
	}
	first := map[string]string{"table of two rows": "j", "sliding": "k"} // whose record comes before all others
	for name, build := range shapes {
		want, ok := ends[name]
		if !ok {
			want = [2]string{"map[a:1 b:1]", "map[a:1 b:1 d:1]"}
		}
		for how, committed := range map[string]bool{"committed": true, "in memory": false} {
			for _, policy := range []stream.Policy{stream.Fail, stream.Skip} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, how, policy == stream.Fail), func(t *testing.T) {
					f := &failing{}
					b := stream.New("half")
					build(b, f)
					d := streamtest.New(t, b, streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) { c.OnError = policy }))
					src, res := d.In[string, string]("in"), d.Out[string, string]("out")
					send := func(v string) {
						src.Send("k", v)
						d.Advance(time.Second)
					}
					if k := first[name]; k != "" {
						src.Send(k, "x")
						d.Advance(time.Second)
					}
					send("a")
					if committed {
						d.Checkpoint()
					}
					f.fail = stream.Transient(errDown)
					send("b")
					d.Advance(time.Second)
					f.fail = nil
					d.Advance(10 * time.Second)
					want, last := want[0], want[1]
					if policy != stream.Fail {
						f.fail = errDown
						send("c")
						f.fail = nil
						send("d")
						want = last
					}
					if name == "panes" { // which are told when they close
						d.Advance(24 * time.Hour)
						src.Send("other", "z")
						d.Advance(time.Second)
					}
					d.Checkpoint()
					got := values(res.Read())
					if len(got) == 0 || got[len(got)-1] != want {
						t.Errorf("got %q, want %s at the end; %v", slices.Compact(got), want, d.Err())
					}
					if slices.ContainsFunc(got, leftBehind.MatchString) {
						t.Errorf("got %q: what failed has left something behind", slices.Compact(got))
					}
				})
			}
		}
	}
}
