package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"testing"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// errPending is of a case whose operators this version does not have.
var errPending = errors.New("pending")

// run builds a case, drives it and compares. Its error is a difference; what should not happen at all fails t.
func run(t *testing.T, c *testCase) error {
	p, err := build(c)
	if err != nil || c.ErrorOnBuild {
		return err
	}
	counted := map[string]int64{}
	opts := []streamtest.Option{
		streamtest.StartAt(time.UnixMilli(0).UTC()),
		streamtest.Config(func(c *stream.Config) { c.Metrics = counts(counted) }),
	}
	d := streamtest.New(t, p.b, opts...)
	r := &runner{program: p, d: d, ins: map[string]*streamtest.In[value, value]{}, got: map[string][]record{}, rows: map[string][]record{}}
	r.open()
	if err := r.drive(); err != nil {
		return err
	}
	var problems []error
	for _, name := range c.outs() {
		problems = append(problems, r.compare(name))
	}
	problems = append(problems, r.dropped(counted))
	return errors.Join(problems...)
}

// build makes the topology of a case.
func build(c *testCase) (*program, error) {
	make, ok := operations()[c.Operation]
	if !ok {
		return nil, fmt.Errorf("the operation %q is not known", c.Operation)
	}
	p := newProgram(c)
	if err := make(p); err != nil {
		return nil, err
	}
	_, err := p.b.Topology()
	switch {
	case errors.Is(err, stream.ErrNotBuilt):
		return nil, errPending
	case c.ErrorOnBuild && err == nil:
		return nil, errors.New("it builds, and must not")
	case c.ErrorOnBuild:
		return nil, nil
	}
	return p, err
}

// A runner drives one case.
type runner struct {
	*program
	d       *streamtest.Driver
	ins     map[string]*streamtest.In[value, value]
	got     map[string][]record // by output
	rows    map[string][]record // updates of tables, by table
	now     int64               // the last time of a record
	high    int64               // the greatest
	reached int64               // the greatest of streams
}

func (r *runner) open() {
	for side := range r.streams {
		r.ins[side] = r.d.In[value, value](side)
	}
	for side := range r.tables {
		r.ins[side] = r.d.In[value, value](side)
	}
	for _, side := range r.extra {
		r.ins[side] = r.d.In[value, value](side)
	}
	for _, o := range r.outs {
		o.read = o.open(r.d)
	}
	for _, o := range r.states {
		o.read = o.open(r.d)
	}
}

// drive sends the inputs in order and reads what each one causes.
func (r *runner) drive() error {
	if r.primed {
		first := int64(0)
		if err := r.send(&input{Side: r.anySide(), Key: text("k"), Value: text("v"), TS: &first}); err != nil {
			return err
		}
	}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		if in.Op == "" {
			if err := r.send(in); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		} else if err := r.control(in); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if r.ErrorAfterInput != nil && *r.ErrorAfterInput == i {
			if r.d.Err() == nil {
				return fmt.Errorf("input %d must be an error", i)
			}
			r.read(i)
			return nil
		}
		r.read(i)
		for n, q := range r.Queries {
			if q.AfterInput == i {
				if err := r.query(q); err != nil {
					return fmt.Errorf("query %d after input %d: %w", n, i, err)
				}
			}
		}
		for _, s := range r.States {
			if s.AfterInput == i {
				if err := r.state(s); err != nil {
					return fmt.Errorf("table after input %d: %w", i, err)
				}
			}
		}
	}
	return nil
}

// read collects what has come out since the input before. It takes a checkpoint, so of what is cached it reads at checkpoints only.
func (r *runner) read(i int) {
	if r.cached() && !r.isCheckpoint(i) {
		return
	}
	for name, o := range r.outs {
		for _, rec := range o.read() {
			if rec.window != nil && rec.window.Start < 0 {
				continue // Kafka Streams has no window that begins before 1970
			}
			rec.after = i
			r.got[name] = append(r.got[name], rec)
		}
	}
	for name, o := range r.states {
		r.rows[name] = append(r.rows[name], o.read()...)
	}
}

// cached reports whether updates of one row are to be put together between checkpoints.
func (p *program) cached() bool { return p.Params.Cached != nil && *p.Params.Cached }

func (c *testCase) isCheckpoint(i int) bool {
	for _, name := range c.outs() {
		if at, err := c.checkpoints(name); err == nil && slices.Contains(at, i) {
			return true
		}
	}
	return slices.ContainsFunc(c.States, func(s tableState) bool { return s.AfterInput == i })
}

// send writes a record. Where sides share their time, those that are streams are promised to be as far as the record.
func (r *runner) send(in *input) error {
	if r.preloaded {
		return r.d.Err()
	}
	if in.TS != nil {
		r.now = *in.TS
	}
	to, ok := r.ins[in.Side]
	if !ok {
		return fmt.Errorf("the topology has no side %q", in.Side)
	}
	at := time.UnixMilli(r.now).UTC()
	if r.keyed {
		in.Key, in.Value = text("k"), text("v")
	}
	to.SendRecord(stream.Record[value, value]{Key: in.Key, NoKey: in.Key == "", Value: in.Value, Deleted: in.Value == "", Time: at})
	r.high = max(r.high, r.now)
	if r.follows && r.streams[in.Side] != nil {
		r.reached = max(r.reached, r.now)
		for side := range r.tables {
			r.ins[side].Advance(time.UnixMilli(r.reached).UTC())
		}
	}
	if r.together {
		for side := range r.streams {
			if side != in.Side {
				r.ins[side].Advance(time.UnixMilli(r.high).UTC())
			}
		}
	}
	return nil
}

// control does what is not a record.
func (r *runner) control(in *input) error {
	switch in.Op {
	case "advance_wall_clock":
		r.d.Advance(time.Duration(in.MS) * time.Millisecond)
	case "set_wall_clock":
		r.d.Advance(time.UnixMilli(in.MS).Sub(r.d.Now()))
	case "check_time":
		for side := range r.streams {
			r.ins[side].Advance(time.UnixMilli(in.MS).UTC())
		}
	case "cancel_schedule", "process", "delete":
		return fmt.Errorf("%w: the control %q", errNoCounterpart, in.Op)
	case "commit":
		r.d.Checkpoint()
	case "restart_processor_keep_state", "restart_and_restore_from_changelog", "restart_wipe_local_state_and_restore_from_changelog":
		again, err := build(r.testCase)
		if err != nil {
			return err
		}
		r.d.Restart(again.b)
	default:
		return fmt.Errorf("the control %q is not known", in.Op)
	}
	return nil
}

// compare holds an output against what the case expects, between its checkpoints or over the run.
func (r *runner) compare(name string) error {
	how, err := r.mode(name)
	if err != nil {
		return err
	}
	m, ok := modes()[how]
	if !ok {
		return fmt.Errorf("the match mode %q is not known", how)
	}
	if how == "none" {
		return nil
	}
	if how == "processing_order" { // of all outputs together: they are partitions
		var want []record
		for _, e := range r.Expected {
			want = append(want, r.ours(e, name))
		}
		return at1(name, m.check(want, r.order))
	}
	o := r.outs[name]
	if o == nil {
		return fmt.Errorf("the topology has no output %q", name)
	}
	at, err := r.checkpoints(name)
	if err != nil {
		return err
	}
	if len(at) == 0 {
		return fmt.Errorf("output %q has no checkpoint", name)
	}
	want, got := r.expected(name), upTo(r.got[name], at[len(at)-1])
	if r.cached() && how == "exact" {
		m.check = multiset // rows leave at a checkpoint in the order of their keys, not in that of a cache
	}
	if o.table && how != "windows" {
		want, got = distinct(want), distinct(got)
	}
	if m.run {
		return at1(name, m.check(want, got))
	}
	before := -1
	for _, end := range at {
		part := func(rs []record) []record {
			return slices.DeleteFunc(slices.Clone(rs), func(r record) bool { return r.after <= before || r.after > end })
		}
		if err := m.check(part(want), part(got)); err != nil {
			return fmt.Errorf("output %s, inputs %d to %d: %w", name, before+1, end, err)
		}
		before = end
	}
	return nil
}

func at1(name string, err error) error {
	if err != nil {
		return fmt.Errorf("output %s: %w", name, err)
	}
	return nil
}

func upTo(rs []record, end int) []record {
	return slices.DeleteFunc(slices.Clone(rs), func(r record) bool { return r.after > end })
}

// expected is what the case says of an output, in our spans and by our rule for the time of final results.
func (r *runner) expected(name string) (out []record) {
	for _, e := range r.Expected {
		if outName(e.Out) == name {
			out = append(out, r.ours(e, name))
		}
	}
	return out
}

// ours is an expected record as weir has it: spans are half-open, and what a window emits on close has the last millisecond of its
// span (DESIGN: time of a result).
func (r *runner) ours(e result, name string) record {
	rec := record{key: e.Key, value: e.Value, old: e.Old, ts: e.TS, after: e.AfterInput, window: e.Window}
	if e.PunctuateAt != nil {
		rec.ts = e.PunctuateAt
	}
	if w := e.Window; w != nil && w.End != nil {
		end := *w.End
		if p := r.Params.Window; p != nil && (p.Type == "sliding" || p.Type == "session") {
			end++
		}
		rec.window = &windowSpan{Start: w.Start, End: &end}
		if p := r.Params.Window; p != nil && p.Type == "session" && e.Value == "" {
			rec.ts = nil // the deletion of a session that grew is an update like any other: its time is the record's
		}
		if (r.Params.Emit == "on_close" || r.final == name) && rec.ts != nil {
			at := end - 1
			rec.ts = &at
		}
	}
	return rec
}

// state compares the rows of a table.
func (r *runner) state(s tableState) error {
	name := outName(s.Table)
	if r.states[name] == nil {
		return fmt.Errorf("the topology does not keep the table %q", name)
	}
	rows := slices.DeleteFunc(latest(r.rows[name], record.id), func(r record) bool { return r.value == "" })
	if s.Absent != nil {
		for _, k := range s.Absent {
			if slices.ContainsFunc(rows, func(r record) bool { return r.key == k }) {
				return fmt.Errorf("key %s is there", k)
			}
		}
		return nil
	}
	var want []record
	for _, row := range s.Rows {
		want = append(want, r.ours(row, name))
	}
	return multiset(want, rows)
}

// counts is a Metrics that adds up what was dropped, by reason.
type counts map[string]int64

func (c counts) Counter(name string, labels ...string) func(int64) {
	return func(n int64) { c[name+" "+strings.Join(labels, " ")] += n }
}

func (c counts) Gauge(string, ...string) func(float64) { return func(float64) {} }

// dropped compares how many inputs were dropped, late or rejected.
func (r *runner) dropped(counted counts) error {
	if r.DroppedInputs == nil {
		return nil
	}
	var n int64
	for name, d := range counted {
		if strings.Contains(name, "dropped") || strings.Contains(name, "rejected") || strings.Contains(name, "late") {
			n += d
		}
	}
	if n != int64(len(r.DroppedInputs)) {
		return fmt.Errorf("dropped %d, want the inputs %v: %v", n, r.DroppedInputs, counted)
	}
	return nil
}
