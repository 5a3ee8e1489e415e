package cases

import (
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// A program is the topology of a case while it is built and run.
type program struct {
	*testCase
	b         *stream.Builder
	streams   map[string]*stream.Stream[value, value]
	tables    map[string]*stream.Table[value, value]
	outs      map[string]*outlet
	states    map[string]*outlet // of tables whose rows are asserted
	together  bool               // the sides share their time, as Kafka Streams' operators of several streams do
	follows   bool               // tables are promised to be as far as the streams: Kafka Streams counts the time of streams alone
	keyed     bool               // records without a key get one: only their time counts
	final     string             // the output that emits on close, when the parameters do not say so of all
	extra     []string           // sides that are neither streams nor tables
	primed    bool               // a record comes before all inputs, to start a schedule
	preloaded bool               // the topology has its inputs already
	order     []record           // in which records were processed
}

func newProgram(c *testCase) *program {
	return &program{
		testCase: c, b: stream.New("case"),
		streams: map[string]*stream.Stream[value, value]{}, tables: map[string]*stream.Table[value, value]{},
		outs: map[string]*outlet{}, states: map[string]*outlet{},
	}
}

// An outlet is an output of the topology.
type outlet struct {
	table bool // repeats and deletions of nothing do not count
	open  func(d *streamtest.Driver) func() []record
	read  func() []record
}

// neverIdle keeps inputs from becoming idle when a case moves the wall clock: Kafka Streams has no such rule.
const neverIdle = 1000 * time.Hour

// stream is the input stream of a side.
func (p *program) stream(side string) *stream.Stream[value, value] {
	s := p.streams[side]
	if s == nil {
		s = p.b.Source(kafka.Source(side, valueSerde(), valueSerde()), stream.MaxFuture(-1), stream.IdleAfter(neverIdle))
		p.streams[side] = s
	}
	return s
}

// table is the input table of a side; a store of history when versioned.
func (p *program) table(side, store string) *stream.Table[value, value] {
	t := p.tables[side]
	if t == nil {
		var opts []stream.TableSourceOption
		if store == "versioned" {
			history := time.Hour // where the case does not say
			if p.Params.History > 0 {
				history = time.Duration(p.Params.History) * time.Millisecond
			}
			opts = append(opts, stream.Versioned(history))
		}
		t = p.b.Table(kafka.Source(side, valueSerde(), valueSerde()), opts...)
		p.tables[side] = t
	}
	return t
}

// out is a stream that is asserted.
func (p *program) out(name string, s *stream.Stream[value, value]) {
	s.To(kafka.Sink(p.topic(name), valueSerde(), valueSerde()))
	p.outs[name] = &outlet{open: func(d *streamtest.Driver) func() []record { return reader(d, p.topic(name), plainKey) }}
}

// outTable is a table whose updates are asserted.
func (p *program) outTable(name string, t *stream.Table[value, value]) {
	t.To(kafka.Sink(p.topic(name), valueSerde(), valueSerde()))
	p.outs[name] = &outlet{table: true, open: func(d *streamtest.Driver) func() []record { return reader(d, p.topic(name), plainKey) }}
}

// outChanges is a table whose changes are asserted, old values among them.
func (p *program) outChanges(name string, t *stream.Table[value, value]) {
	s := t.Changes().MapValues(func(c table.Change[value]) value { return text(string(c.New) + "\x00" + string(c.Old)) })
	s.To(kafka.Sink(p.topic(name), valueSerde(), valueSerde()))
	p.outs[name] = &outlet{table: true, open: func(d *streamtest.Driver) func() []record {
		read := reader(d, p.topic(name), plainKey)
		return func() []record {
			rs := read()
			for i := range rs {
				rs[i].value, rs[i].old = splitChange(rs[i].value.String())
			}
			return rs
		}
	}}
}

// splitChange takes apart what outChanges made of a change.
func splitChange(s string) (value, *value) {
	now, before, _ := strings.Cut(s, "\x00")
	old := value(before)
	return value(now), &old
}

// outWindows is a table of windows whose updates are asserted.
func (p *program) outWindows(name string, t *stream.Table[window.Key[value], value]) {
	t.To(kafka.Sink(p.topic(name), serde.Windowed(valueSerde()), valueSerde()))
	p.outs[name] = &outlet{table: true, open: func(d *streamtest.Driver) func() []record { return reader(d, p.topic(name), windowKey) }}
}

// state is a table whose rows are asserted.
func (p *program) state(name string, t *stream.Table[value, value]) {
	topic := "state-" + p.topic(name)
	t.To(kafka.Sink(topic, valueSerde(), valueSerde()))
	p.states[name] = &outlet{table: true, open: func(d *streamtest.Driver) func() []record { return reader(d, topic, plainKey) }}
}

// stateWindows is state for a table of windows.
func (p *program) stateWindows(name string, t *stream.Table[window.Key[value], value]) {
	topic := "state-" + p.topic(name)
	t.To(kafka.Sink(topic, serde.Windowed(valueSerde()), valueSerde()))
	p.states[name] = &outlet{table: true, open: func(d *streamtest.Driver) func() []record { return reader(d, topic, windowKey) }}
}

// topic is that of an output. It differs from every input's.
func (p *program) topic(out string) string { return "out-" + out }

// reader reads an output topic as records.
func reader[K any](d *streamtest.Driver, topic string, key func(K, *record)) func() []record {
	out := d.Out[K, value](topic)
	return func() []record {
		var rs []record
		for _, r := range out.Read() {
			ts := r.Time.UnixMilli()
			rec := record{value: r.Value, ts: &ts}
			if !r.NoKey {
				key(r.Key, &rec)
			}
			rs = append(rs, rec)
		}
		return rs
	}
}

func plainKey(k value, r *record) { r.key = k }

func windowKey(k window.Key[value], r *record) {
	end := k.Span.End().UnixMilli()
	r.key, r.window = k.Key, &windowSpan{Start: k.Span.Start().UnixMilli(), End: &end}
}
