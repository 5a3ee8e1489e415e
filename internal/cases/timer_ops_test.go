package cases

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirstream/weir/stream"
)

func timerOperations() map[string]func(p *program) error {
	return map[string]func(p *program) error{
		"punctuate.stream_time":                        streamTime,
		"punctuate.wall_clock":                         wallClock,
		"punctuate.stream_time + punctuate.wall_clock": noCounterpart, // a schedule by stream time that belongs to no key
		"versioned_table.put_get":                      versionedRows,
	}
}

// streamTime: a schedule by stream time is an event timer that sets itself again. It is told the time that it was set to; what Kafka
// Streams tells its punctuator, how far time is, is the watermark.
func streamTime(p *program) error {
	if p.Params.Interval <= 0 {
		return unknown("interval", "")
	}
	every := ms(p.Params.Interval)
	once := p.Params.Punctuator == "cancels its own schedule"
	if p.Params.Punctuator != "" && !once {
		return unknown("punctuator", p.Params.Punctuator)
	}
	in := p.stream(p.anySide())
	p.primed = p.Params.FirstDue > 0
	var fired []record
	p.outs["out"] = &outlet{open: nothingToOpen(func() []record { out := fired; fired = nil; return out })}
	in.Process(func(pr *stream.Processor[value, value, value]) func(stream.Record[value, value]) error {
		var timer *stream.Timer
		timer = pr.EventTimer("schedule", func(_ value, _ time.Time) error {
			at := pr.Watermark()
			fired = append(fired, record{ts: millis(at)})
			if !once {
				timer.Set(at.Truncate(every).Add(every))
			}
			return nil
		})
		armed := false
		return func(r stream.Record[value, value]) error {
			if !armed {
				armed = true
				first := r.Time.Truncate(every)
				if p.primed {
					first = time.UnixMilli(p.Params.FirstDue)
				}
				timer.Set(first)
			}
			return nil
		}
	})
	return nil
}

func millis(t time.Time) *int64 {
	n := t.UnixMilli()
	return &n
}

// anySide is the side of the first record.
func (p *program) anySide() string {
	for _, in := range p.Inputs {
		if in.Op == "" {
			return in.Side
		}
	}
	return "in"
}

func wallClock(p *program) error {
	var fired []record
	p.outs["out"] = &outlet{open: nothingToOpen(func() []record { out := fired; fired = nil; return out })}
	p.stream("in").Process(func(pr *stream.Processor[value, value, value]) func(stream.Record[value, value]) error {
		pr.Every(ms(p.Params.Interval), func(now time.Time) error {
			fired = append(fired, record{ts: millis(now)})
			return nil
		})
		return func(stream.Record[value, value]) error { return nil }
	})
	return nil
}

// versionedRows: what a versioned table has at a time is what a stream record of that time finds in it.
func versionedRows(p *program) error {
	ranges := 0
	for _, q := range p.Queries {
		switch q.Mode {
		case "range":
			ranges++
		case "latest", "as_of":
		default:
			return unknown("query", q.Mode)
		}
	}
	if ranges == len(p.Queries) {
		return errNoCounterpart
	}
	p.out("answer", p.stream("ask").LeftJoinTable(p.table("table", "versioned"), func(_, row value, ok bool) value {
		if !ok {
			return text("nothing")
		}
		return row
	}))
	return nil
}

// farAhead is the time at which the latest version is asked for.
const farAhead = 1 << 40

// query asks the table, and compares what it answers.
func (r *runner) query(q query) error {
	if q.Mode == "range" {
		return nil // no operator lists versions
	}
	at := q.AsOf
	if q.Mode == "latest" {
		at = farAhead
	}
	r.ins["ask"].SendRecord(stream.Record[value, value]{Key: q.Key, Value: text("?"), Time: time.UnixMilli(at).UTC()})
	got := r.outs["answer"].read()
	if len(got) != 1 {
		return fmt.Errorf("%d answers", len(got))
	}
	want := text("nothing")
	if string(q.Result) != "null" {
		var v version
		if err := json.Unmarshal(q.Result, &v); err != nil {
			return err
		}
		want = v.Value
	}
	if got[0].value != want {
		return fmt.Errorf("%s as of %d is %s, want %s", q.Key, at, got[0].value, want)
	}
	return nil
}
