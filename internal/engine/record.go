package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

// A taskRecord is what a checkpoint says of one task.
type taskRecord struct {
	n       uint64
	inputs  []inputRecord
	handles []handleRecord // of sinks outside the commit log, prepared and to be committed
	nodes   []task.NodeMark
	logs    map[uint32]string // the ids of changelogs by the tags of their stores
	doubted bool              // the group's positions may have been moved back behind it (docs/adr/0076)
}

type inputRecord struct {
	name     string
	position connector.Position
	mark     task.Mark
	upstream []task.Mark // of an exchange's senders; kept with positions, and in a record that is doubted
	topics   []topicID   // that the position is in
}

type handleRecord struct {
	sink   string
	handle connector.Handle
}

// recordVersion is the first byte of an encoded task record. A version reads its own and those before: 2 has watermarks of nodes, 3 ids of topics, 4 those
// of changelogs, 5 whether it is doubted and how far upstream tasks were.
const recordVersion = 5

// recordOf is the record of a task's part.
func recordOf(p *prepared) *taskRecord {
	rec := &taskRecord{n: p.r.number(p.cut), nodes: p.cut.Nodes, logs: p.r.s.logIDs[p.r.sub]}
	for i, in := range p.r.t.Inputs {
		name := in.State().Name
		rec.inputs = append(rec.inputs, inputRecord{name: name, position: p.cut.Positions[i], mark: p.cut.Marks[i], topics: p.r.s.inputIDs(p.r.sub, name)})
	}
	for i, h := range p.handles {
		if h != nil {
			rec.handles = append(rec.handles, handleRecord{p.r.t.Sinks[i].Name(), h})
		}
	}
	return rec
}

// doubt notes that what the group says of the task may be older than the record, which then has all that is needed in its place.
func (r *taskRecord) doubt(cut *task.Cut) {
	r.doubted = true
	for i := range r.inputs {
		r.inputs[i].upstream = cut.Upstream[i]
	}
}

// position is where an input goes on; "" for one that the record does not know.
func (r *taskRecord) position(input string) connector.Position {
	for i := range r.inputs {
		if r.inputs[i].name == input {
			return r.inputs[i].position
		}
	}
	return ""
}

// mark is how far event time was.
func (r *taskRecord) mark(input string) task.Mark {
	for i := range r.inputs {
		if r.inputs[i].name == input {
			return r.inputs[i].mark
		}
	}
	return task.NewMark()
}

// upstream is how far the tasks were that an exchange's records come from.
func (r *taskRecord) upstream(input string) []task.Mark {
	for i := range r.inputs {
		if r.inputs[i].name == input {
			return r.inputs[i].upstream
		}
	}
	return nil
}

// handlesOf are those that a sink prepared and that may not have been committed.
func (r *taskRecord) handlesOf(sink string) (out []connector.Handle) {
	if r == nil {
		return nil
	}
	for _, h := range r.handles {
		if h.sink == sink {
			out = append(out, h.handle)
		}
	}
	return out
}

// add takes from the record of the tasks topic what positions do not say: handles, inputs that the group knows nothing of, and how far
// operators were. Without that floor, windows behind a local exchange would take late records again after a restart, and fire twice.
func (r *taskRecord) add(own *taskRecord) {
	if own == nil {
		return
	}
	r.n = max(r.n, own.n)
	r.handles, r.nodes = own.handles, own.nodes
	for _, in := range own.inputs {
		if !slices.ContainsFunc(r.inputs, func(i inputRecord) bool { return i.name == in.name }) {
			r.inputs = append(r.inputs, in)
		}
	}
}

// append encodes the record.
func (r *taskRecord) append(b []byte) []byte {
	b = append(b, recordVersion)
	b = binary.AppendUvarint(b, r.n)
	b = binary.AppendUvarint(b, uint64(len(r.inputs)))
	for _, in := range r.inputs {
		b = appendString(b, in.name)
		b = appendString(b, string(in.position))
		b = binary.AppendVarint(b, in.mark.W)
		b = binary.AppendVarint(b, in.mark.High)
		b = binary.AppendUvarint(b, uint64(len(in.topics)))
		for _, t := range in.topics {
			b = appendString(appendString(b, t.topic), t.id)
		}
		b = binary.AppendUvarint(b, uint64(len(in.upstream)))
		for _, m := range in.upstream {
			b = append(binary.AppendVarint(b, m.W), endings(m))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.handles)))
	for _, h := range r.handles {
		b = appendString(b, h.sink)
		b = appendString(b, string(h.handle))
	}
	b = binary.AppendUvarint(b, uint64(len(r.nodes)))
	for _, m := range r.nodes {
		b = binary.AppendVarint(appendString(b, m.Name), m.W)
	}
	b = binary.AppendUvarint(b, uint64(len(r.logs)))
	for _, tag := range slices.Sorted(maps.Keys(r.logs)) {
		b = appendString(binary.AppendUvarint(b, uint64(tag)), r.logs[tag])
	}
	if r.doubted {
		return append(b, 1)
	}
	return append(b, 0)
}

// What an upstream task's mark says beside its watermark.
const (
	endingIdle = 1 << iota
	endingEnded
)

func endings(m task.Mark) (e byte) {
	if m.Idle {
		e |= endingIdle
	}
	if m.Ended {
		e |= endingEnded
	}
	return e
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeRecord is the inverse of append.
func decodeRecord(b []byte) (*taskRecord, error) {
	if len(b) == 0 || b[0] < 1 || b[0] > recordVersion {
		return nil, fmt.Errorf("task record: version %v is not %d: it was written by another version of weir", b[:min(1, len(b))], recordVersion)
	}
	d := decoder{b: b[1:]}
	r := &taskRecord{n: d.uvarint()}
	for range d.count() {
		in := inputRecord{name: d.string(), position: connector.Position(d.string())}
		in.mark.W, in.mark.High = d.varint(), d.varint()
		if b[0] >= 3 {
			for range d.count() {
				in.topics = append(in.topics, topicID{d.string(), d.string()})
			}
		}
		if b[0] >= 5 {
			for range d.count() {
				w, e := d.varint(), d.byte()
				in.upstream = append(in.upstream, task.Mark{W: w, High: w, Idle: e&endingIdle != 0, Ended: e&endingEnded != 0})
			}
		}
		r.inputs = append(r.inputs, in)
	}
	for range d.count() {
		r.handles = append(r.handles, handleRecord{d.string(), connector.Handle(d.string())})
	}
	if b[0] >= 2 {
		for range d.count() {
			r.nodes = append(r.nodes, task.NodeMark{Name: d.string(), W: d.varint()})
		}
	}
	if b[0] >= 4 {
		for range d.count() {
			if r.logs == nil {
				r.logs = map[uint32]string{}
			}
			tag := uint32(d.uvarint())
			r.logs[tag] = d.string()
		}
	}
	if b[0] >= 5 {
		r.doubted = d.byte() != 0
	}
	if d.bad || len(d.b) > 0 {
		return nil, errors.New("task record: it is damaged")
	}
	return r, nil
}

// A decoder reads what append wrote; bad stays set after the first fault.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return taken(d, v, n)
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return taken(d, v, n)
}

func (d *decoder) byte() byte {
	if d.bad || len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func taken[T any](d *decoder, v T, n int) T {
	if d.bad || n <= 0 {
		d.bad = true
		return *new(T)
	}
	d.b = d.b[n:]
	return v
}

// count is a length of something whose elements take at least a byte.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.count()
	if d.bad {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}
