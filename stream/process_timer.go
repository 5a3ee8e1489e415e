package stream

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// A Timer fires per key.
type Timer struct {
	ts   *timers
	kind *timerKind
}

// Set replaces every pending time of the key by at. A time that has passed fires after the record at hand.
func (t *Timer) Set(at time.Time) { t.ts.set(t.kind, []int64{at.UnixMilli()}) }

// Add adds a pending time; the same time is pending once.
func (t *Timer) Add(at time.Time) {
	pending := t.ts.pending(t.kind)
	i, there := slices.BinarySearch(pending, at.UnixMilli())
	if !there {
		t.ts.set(t.kind, slices.Insert(pending, i, at.UnixMilli()))
	}
}

// Clear drops the pending times of the key.
func (t *Timer) Clear() { t.ts.set(t.kind, nil) }

// EventTimer declares timers that fire when the watermark reaches them. fire runs with the state of the key that set the timer,
// between records; it takes effect once, whatever crashes.
func (p *Processor[K, K2, V2]) EventTimer(name string, fire func(k K, at time.Time) error) *Timer {
	return p.timer(name, false, fire)
}

// ClockTimer is EventTimer by the wall clock.
func (p *Processor[K, K2, V2]) ClockTimer(name string, fire func(k K, at time.Time) error) *Timer {
	return p.timer(name, true, fire)
}

func (p *Processor[K, K2, V2]) timer(name string, clock bool, fire func(k K, at time.Time) error) *Timer {
	if p.declared != nil {
		p.declared.timers = append(p.declared.timers, name)
		return nil
	}
	kind := &timerKind{name: name, clock: clock, fire: func(key []byte, at int64) error {
		k, err := p.keyOf(key)
		if err != nil {
			panic(task.Failure{Err: fmt.Errorf("timer %s: stored key %q: %w", name, key, err)})
		}
		return fire(k, time.UnixMilli(at).UTC())
	}}
	p.run.timers.kinds = append(p.run.timers.kinds, kind)
	return &Timer{p.run.timers, kind}
}

// timers are the pending timers of a processor in one task. They lie in a store twice: by time, which finds what is due, and by key, which
// finds what Set and Clear replace. Only the earliest time of each kind is held in memory.
type timers struct {
	run   *processing
	store *overlay.Store[string]
	kinds []*timerKind
	buf   []byte
}

// A timerKind is one declared timer.
type timerKind struct {
	name  string
	clock bool
	fire  func(key []byte, at int64) error
	next  int64 // no pending time is earlier
}

// The first byte of the timers' keys.
const (
	timerByTime = 't' // then name, time, key; no value
	timerByKey  = 'k' // then name, key; the times, eight bytes each, rising
)

func openTimers(in *instance, run *processing, name string) *timers {
	return &timers{run: run, store: openStore(in, "timers", name, serde.Bytes, serde.String, true, nil, false)}
}

// start finds the earliest time of each kind, with state restored.
func (t *timers) start() {
	for _, k := range t.kinds {
		k.next = t.earliest(k)
	}
	t.arm()
}

// earliest is the first pending time of a kind.
func (t *timers) earliest(k *timerKind) int64 {
	for key := range t.store.Prefix(keys.AppendBytes([]byte{timerByTime}, []byte(k.name))) {
		_, at, _ := t.cut(key)
		return at
	}
	return task.MaxTime
}

func (t *timers) cut(key []byte) (name string, at int64, of []byte) {
	name, at, of, err := keys.CutTimer(key[1:])
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("stored timer %q: %w", key, err)})
	}
	return name, at, of
}

// arm asks the node to be called for what is earliest, and holds the output watermark back for it.
func (t *timers) arm() {
	hold := int64(task.MaxTime)
	for _, k := range t.kinds {
		switch {
		case k.next == task.MaxTime:
		case k.clock:
			t.run.node.AtClock(k.next)
		default:
			t.run.node.At(k.next)
			hold = min(hold, k.next)
		}
	}
	t.run.node.Hold(hold)
}

func (t *timers) keyRow(k *timerKind) []byte {
	if !t.run.hasKey {
		panic(fmt.Errorf("timer %s is used where no key is at hand", k.name))
	}
	t.buf = append(keys.AppendBytes(append(t.buf[:0], timerByKey), []byte(k.name)), t.run.key...)
	return t.buf
}

// pending are the times of the key at hand.
func (t *timers) pending(k *timerKind) (at []int64) {
	row, _ := t.store.Get(t.keyRow(k))
	for ; len(row) >= 8; row = row[8:] {
		at = append(at, int64(binary.BigEndian.Uint64([]byte(row[:8]))))
	}
	return at
}

// set replaces them.
func (t *timers) set(k *timerKind, at []int64) {
	old := t.pending(k)
	for _, o := range old {
		if !slices.Contains(at, o) {
			t.put(t.timeRow(k, o, t.run.key), "", false)
		}
	}
	var row []byte
	for _, a := range at {
		row = binary.BigEndian.AppendUint64(row, uint64(a))
		if !slices.Contains(old, a) {
			t.put(t.timeRow(k, a, t.run.key), "", true)
		}
		k.next = min(k.next, a)
	}
	t.put(t.keyRow(k), string(row), len(row) > 0)
	t.arm()
}

func (t *timers) timeRow(k *timerKind, at int64, key []byte) []byte {
	t.buf = keys.AppendTimer(append(t.buf[:0], timerByTime), k.name, at, key)
	return t.buf
}

// put writes or deletes a row, so that the record at hand can undo it.
func (t *timers) put(key []byte, value string, there bool) {
	e := t.store.Entry(key)
	if !there && !e.Found() {
		return
	}
	if t.run.guarded {
		before := t.store.Save(e)
		t.run.undo = append(t.run.undo, func() { t.store.Undo(before) })
	}
	if there {
		t.store.Set(e, value)
	} else {
		t.store.Remove(e)
	}
}

// watermark fires what the watermark has reached; clock what the wall clock has; passed what was set to a time that has passed.
func (t *timers) watermark(w int64) { t.due(false, w) }
func (t *timers) clock(now int64)   { t.due(true, now) }

func (t *timers) passed() {
	for _, k := range t.kinds {
		limit := t.run.node.Task().Now()
		if !k.clock {
			limit = t.run.node.In()
		}
		if k.next <= limit && k.next != task.MaxTime {
			t.due(k.clock, limit)
		}
	}
}

// due fires the timers of a clock up to limit, in the order of their times. What they set anew in that time fires in the same call.
func (t *timers) due(clock bool, limit int64) {
	saved, key, had := *t.run.c, t.run.key, t.run.hasKey // a record may be at hand, and others behind a fan-out wait for it
	defer func() {
		*t.run.c = saved
		t.run.at(key, had)
	}()
	for _, k := range t.kinds {
		for k.clock == clock && k.next <= limit && k.next != task.MaxTime {
			t.fireUpTo(k, limit)
			k.next = t.earliest(k)
		}
	}
	t.arm()
}

// fireUpTo fires one kind's timers up to limit that are pending now.
func (t *timers) fireUpTo(k *timerKind, limit int64) {
	prefix := keys.AppendBytes([]byte{timerByTime}, []byte(k.name))
	var due [][]byte
	for key := range t.store.Range(prefix, keys.AppendTime(slices.Clone(prefix), min(limit, task.MaxTime-1)+1)) {
		due = append(due, slices.Clone(key))
	}
	for _, row := range due {
		if _, pending := t.store.Get(row); !pending {
			continue // one before it has cleared it
		}
		_, at, key := t.cut(row)
		t.run.outside(at)
		t.run.at(key, true)
		t.take(k, at)
		t.run.call(t.run.c, func() error { return k.fire(key, at) })
	}
}

// take removes a time of the key at hand before it fires: so it fires once, also when its function fails and the policy goes on.
func (t *timers) take(k *timerKind, at int64) {
	guarded := t.run.guarded
	t.run.guarded = false
	left := slices.DeleteFunc(t.pending(k), func(o int64) bool { return o == at })
	t.set(k, left)
	t.run.guarded = guarded
}
