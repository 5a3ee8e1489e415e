package crashtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A drawn topology is what a seed makes of the operators: streams and tables of int64 by string, made from the ones before. What it computes
// depends on nothing but the input, however it is run: no record is late, what is aggregated in no known order is a sum, and rows of tables
// meet rows of tables, or of a versioned one as of a time.
type drawn struct {
	r       *rand.Rand
	ways    int // partitions of what is asked for by number
	streams []*drawnStream
	tables  []*drawnTable
	steps   []string // what was drawn, to be printed
}

// A drawnStream is one with what its records may be used for.
type drawnStream struct {
	s     *stream.Stream[string, int64]
	name  string
	asked bool // it has the number of partitions that was asked for, and not the sources'
	order bool // a key's records come in one order
	read  bool // something was made of it
}

type drawnTable struct {
	t     *stream.Table[string, int64]
	name  string
	asked bool
	read  bool
}

const (
	disorder = 3 * time.Second
	lastMark = "~" // the key of records that close every window, and are counted nowhere
)

// draw builds the topology of a seed. ways is how many partitions Repartition asks for, which must make no difference.
func draw(b *stream.Builder, seed uint64, ways int) *drawn {
	d := &drawn{r: rand.New(rand.NewPCG(seed, 11)), ways: ways}
	ours := func(k string, _ int64) bool { return k != lastMark }
	patient := []stream.SourceOption{stream.IdleAfter(1000 * time.Hour), stream.Disorder(disorder)}
	for _, topic := range []string{"left", "right"} {
		s := b.Source(kafka.Source(topic, serde.String, serde.Int64), patient...).Filter(ours)
		d.streams = append(d.streams, &drawnStream{s: s, name: topic, order: true})
	}
	prices := b.Table(kafka.Source("prices", serde.String, serde.Int64), stream.Versioned(1000*time.Hour))
	rows := b.Table(kafka.Source("rows", serde.String, serde.Int64)).Filter(ours)
	d.tables = append(d.tables, &drawnTable{t: rows, name: "rows"})
	for range 4 + d.r.IntN(6) {
		d.step(prices)
	}
	return d
}

// finish sends what nothing was made of to its topic, under the name of what made it, and returns the topics.
func (d *drawn) finish() (topics []string) {
	to := func(name string) string {
		topics = append(topics, name)
		return name
	}
	for i, s := range d.streams {
		if !s.read {
			s.s.To(kafka.Sink(to(fmt.Sprint("streams-", i)), serde.String, serde.Int64))
		}
	}
	for i, t := range d.tables {
		if !t.read {
			t.t.To(kafka.Sink(to(fmt.Sprint("tables-", i)), serde.String, serde.Int64))
		}
	}
	return topics
}

func (d *drawn) String() string { return strings.Join(d.steps, "\n") }

// named gives what is made next a name that no other has.
func (d *drawn) named(kind string, n int) stream.Option { return stream.Named(fmt.Sprint(kind, n)) }

func (d *drawn) note(name, format string, args ...any) {
	d.steps = append(d.steps, name+" = "+fmt.Sprintf(format, args...))
}

// add makes a stream known.
func (d *drawn) add(s *stream.Stream[string, int64], asked, order bool, format string, args ...any) {
	name := fmt.Sprint("s", len(d.streams))
	d.note(name, format, args...)
	d.streams = append(d.streams, &drawnStream{s: s, name: name, asked: asked, order: order})
}

func (d *drawn) addTable(t *stream.Table[string, int64], asked bool, format string, args ...any) {
	name := fmt.Sprint("t", len(d.tables))
	d.note(name, format, args...)
	d.tables = append(d.tables, &drawnTable{t: t, name: name, asked: asked})
}

// pick takes a stream, one of the latest more often than others.
func (d *drawn) pick() *drawnStream {
	s := d.streams[max(d.r.IntN(len(d.streams)), d.r.IntN(len(d.streams)))]
	s.read = true
	return s
}

// peer takes a stream that has as many partitions as another: that one, when there is no other.
func (d *drawn) peer(of *drawnStream) *drawnStream {
	for range 4 {
		if s := d.streams[d.r.IntN(len(d.streams))]; s.asked == of.asked && s != of {
			s.read = true
			return s
		}
	}
	return of
}

func (d *drawn) pickTable() *drawnTable {
	t := d.tables[max(d.r.IntN(len(d.tables)), d.r.IntN(len(d.tables)))]
	t.read = true
	return t
}

func (d *drawn) step(prices *stream.Table[string, int64]) {
	a, b, named := 1+d.r.Int64N(5), d.r.Int64N(5), d.named("s", len(d.streams))
	switch d.r.IntN(16) {
	case 0:
		s := d.pick()
		d.add(s.s.MapValues(func(v int64) int64 { return v*a + b }), s.asked, s.order, "%s.MapValues(v*%d + %d)", s.name, a, b)
	case 1:
		s := d.pick()
		d.add(s.s.Filter(func(_ string, v int64) bool { return (v+b)%(a+1) != 0 }), s.asked, s.order, "%s.Filter((v+%d)%%%d != 0)", s.name, b, a+1)
	case 2, 3:
		s := d.pick()
		d.add(s.s.SelectKey(func(_ string, v int64) string { return fmt.Sprint("g", (v+b)%(a+2)) }, named), s.asked, false, "%s.SelectKey((v+%d)%%%d)", s.name, b, a+2)
	case 4:
		s := d.pick()
		twice := s.s.FlatMap(func(k string, v int64, emit func(string, int64)) {
			emit(k, v)
			if v%2 == 1 {
				emit(k+"x", v+a)
			}
		}, named)
		d.add(twice, s.asked, false, "%s.FlatMap(%d)", s.name, a)
	case 5:
		s := d.pick()
		o := d.peer(s)
		d.add(s.s.Merge(o.s), s.asked, false, "%s.Merge(%s)", s.name, o.name)
	case 6:
		s := d.pick()
		d.add(s.s.Repartition(stream.Partitions(d.ways), named), true, s.order, "%s.Repartition", s.name)
	case 7, 8:
		d.window(a, named)
	case 9:
		s := d.pick()
		o := d.peer(s)
		joined := s.s.Join(o.s, window.Within(time.Duration(a)*time.Second), func(x, y int64) int64 { return x*31 + y }, named)
		d.add(joined, s.asked, false, "%s.Join(%s within %ds)", s.name, o.name, a)
	case 10:
		s := d.streams[d.r.IntN(len(d.streams))]
		if s.asked {
			s = d.streams[0]
		}
		s.read = true
		priced := s.s.LeftJoinTable(prices, func(v, p int64, _ bool) int64 { return v*7 + p }, stream.WaitFor(disorder), named)
		d.add(priced, false, false, "%s.LeftJoinTable(prices)", s.name)
	default:
		d.table(a, b)
	}
}

// window aggregates a stream in windows, and goes on with their final results.
func (d *drawn) window(a int64, named stream.Option) {
	s := d.pick()
	size, sum := time.Duration(5+5*a)*time.Second, func(x, y int64) int64 { return x + y }
	var closed *stream.Table[window.Key[string], int64]
	var what string
	switch d.r.IntN(3) {
	case 0:
		what, closed = "Tumbling", s.s.GroupByKey().Window(window.Tumbling(size)).Count(named)
	case 1:
		what, closed = "Hopping", s.s.GroupByKey().Window(window.Hopping(size, size/5)).Reduce(sum, named)
	case 2:
		what, closed = "Session", s.s.GroupByKey().Session(window.Session(size/10)).Reduce(sum, named)
	}
	flat := closed.ToStream().Map(func(k window.Key[string], n int64) (string, int64) {
		return fmt.Sprintf("%s@%d", k.Key, k.Span.Start().UnixMilli()/1000%100), n
	})
	d.add(flat, s.asked, false, "%s.%s(%v)", s.name, what, size)
}

// table makes one of streams or tables.
func (d *drawn) table(a, b int64) {
	sum, named := func(x, y int64) int64 { return x + y }, d.named("t", len(d.tables))
	switch d.r.IntN(7) {
	case 0:
		s := d.pick()
		d.addTable(s.s.GroupByKey().Count(named), s.asked, "%s.Count", s.name)
	case 1:
		s := d.pick()
		d.addTable(s.s.GroupBy(func(_ string, v int64) string { return fmt.Sprint("h", v%(a+1)) }).Reduce(sum, named), s.asked, "%s.GroupBy(v%%%d).Reduce", s.name, a+1)
	case 2:
		s := d.pick()
		if !s.order {
			d.addTable(s.s.GroupByKey().Reduce(sum, stream.OnUpdate, named), s.asked, "%s.Reduce", s.name)
			return
		}
		d.addTable(s.s.GroupByKey().Aggregate(func() int64 { return 17 }, func(_ string, v, h int64) int64 { return h*31 + v }, named), s.asked, "%s.Aggregate in order", s.name)
	case 3:
		t := d.pickTable()
		d.addTable(t.t.Filter(func(_ string, v int64) bool { return (v+b)%(a+1) != 0 }).MapValues(func(v int64) int64 { return v + a }, named), t.asked, "%s.Filter((v+%d)%%%d)", t.name, b, a+1)
	case 4:
		t := d.pickTable()
		grouped := t.t.GroupBy(func(_ string, v int64) (string, int64) { return fmt.Sprint("h", (v%(a+1)+a+1)%(a+1)), v })
		sums := grouped.Reduce(sum, func(x, y int64) int64 { return x - y }, named)
		// A group that rows have left again ends with 0, and one that they only passed between two checkpoints was never there.
		d.addTable(sums.Filter(func(_ string, v int64) bool { return v != 0 }), t.asked, "%s.GroupBy(v%%%d).Reduce", t.name, a+1)
	case 5, 6:
		t, o := d.pickTable(), d.pickTable()
		if t.asked != o.asked || t == o {
			o = &drawnTable{t: t.t.MapValues(func(v int64) int64 { return v * a }), name: fmt.Sprint(t.name, "*", a)}
		}
		switch d.r.IntN(3) {
		case 0:
			d.addTable(t.t.Join(o.t, func(x, y int64) int64 { return x*13 + y }, named), t.asked, "%s.Join(%s)", t.name, o.name)
		case 1:
			fk := func(_ string, v int64) (string, bool) { return fmt.Sprint("k", (v%7+7)%7), v%5 != 0 }
			d.addTable(t.t.LeftJoinOn(o.t, fk, func(x, y int64, _ bool) int64 { return x*17 + y }, named), t.asked, "%s.LeftJoinOn(%s)", t.name, o.name)
		case 2:
			d.addTable(t.t.OuterJoin(o.t, func(x, y int64, m stream.Match) int64 { return x*13 + y*5 + int64(m) }, named), t.asked, "%s.OuterJoin(%s)", t.name, o.name)
		}
	}
}
