package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A remoteOut is the sending end of an exchange through the cluster, in one task. Beside records it writes how far event time is
// upstream: a record without a value, which no record of the stream is.
type remoteOut[K, V any] struct {
	in     *instance
	name   string
	node   *task.Node
	out    wire.Out
	serdes *exchangeSerdes[K, V]
	reject rejection
	key    []byte
	value  []byte
	from   int

	sent     task.Mark // the last mark that was written
	sentAt   int64     // and when, by the wall clock
	interval int64
	idle     []bool  // partitions whose last mark was an idle one
	told     []int64 // by partition, how far a record was told that event time was
	patience int64   // a record that is no further behind needs not be told
}

func (o *remoteOut[K, V]) receive(c *task.Context, k K, v V) {
	c.Fault = o.node
	var err error
	var key []byte
	if !c.NoKey {
		if o.key, err = o.serdes.key.Append(o.key[:0], k); err != nil {
			o.reject(c, fmt.Errorf("key of repartition %s: %w", o.name, err), nil)
			return
		}
		if o.key == nil { // the only key of a type without bytes is a key, and null is none
			o.key = []byte{}
		}
		key = o.key
	}
	if err := o.encode(key, v); err != nil {
		o.reject(c, err, nil)
		b, ok := any(v).(interface{ bare() V })
		if !ok || o.encode(key, b.bare()) != nil {
			return
		}
	}
	p := int32(o.from % len(o.idle))
	if key != nil {
		p = partition.Of(key, int32(len(o.idle)))
	}
	if o.idle[p] { // active again before the record is there
		o.idle[p] = false
		active := o.sent
		active.Idle = false
		o.out.Append(p, c.Time, appendMark(nil, o.from, active), nil, nil)
	}
	if w := behind(c, o.node, o.patience); w > o.told[p] {
		o.told[p] = w
		if w > o.sent.W {
			o.out.Append(p, c.Time, appendMark(nil, o.from, task.Mark{W: w}), nil, nil)
		}
	}
	if o.value == nil {
		o.value = []byte{}
	}
	c.Effects++
	o.out.Append(p, c.Time, key, o.value, c.Headers)
}

// encode makes the bytes of a record's value, which its topic must take with the key.
func (o *remoteOut[K, V]) encode(key []byte, v V) (err error) {
	if o.value, err = o.serdes.value.Append(o.value[:0], v); err != nil {
		return fmt.Errorf("value of repartition %s: %w", o.name, err)
	}
	if most := o.out.MaxBytes(); len(key)+len(o.value) > most {
		return fmt.Errorf("repartition %s: the record has %d bytes, and its topic takes %d", o.name, len(key)+len(o.value), most)
	}
	return nil
}

// behind is how far event time is at an exchange, for a record that is further behind than everybody behind the exchange has patience; MinTime for any
// other. Whether such a record is late for somebody must not depend on whether a batch or a checkpoint happened to end before it, so it tells.
func behind(c *task.Context, exchange *task.Node, patience int64) int64 {
	if w := exchange.In(); span.Add(c.Time, patience) < w && w != task.MaxTime {
		return w
	}
	return task.MinTime
}

// Flush has nothing to do: records are on their way, and marks go with barriers.
func (o *remoteOut[K, V]) Flush() {}

// Pending is 0: the writer says when it is full.
func (o *remoteOut[K, V]) Pending() int64 { return 0 }

// Barrier writes how far event time is, when it has moved, at most once an interval.
func (o *remoteOut[K, V]) Barrier(uint64) {
	mark := o.node.From()
	now := o.node.Task().Now()
	if mark == o.sent || mark.W == task.MinTime && !mark.Idle || now-o.sentAt < o.interval && !mark.Ended && o.sent.W != task.MinTime {
		return
	}
	o.sent, o.sentAt = mark, now
	o.key = appendMark(o.key[:0], o.from, mark)
	for p := range o.idle {
		o.idle[p] = mark.Idle
		o.out.Append(int32(p), now, o.key, nil, nil)
	}
}

// markVersion is the first byte of a mark on its way through a topic.
const markVersion = 1

func appendMark(b []byte, from int, m task.Mark) []byte {
	flags := byte(0)
	if m.Idle {
		flags |= 1
	}
	if m.Ended {
		flags |= 2
	}
	b = binary.AppendUvarint(append(b, markVersion, flags), uint64(from))
	return binary.AppendVarint(b, m.W)
}

var errBadMark = errors.New("a watermark in a repartition topic is damaged")

func decodeMark(b []byte) (from int, m task.Mark, err error) {
	if len(b) < 4 || b[0] != markVersion {
		return 0, m, errBadMark
	}
	m.Idle, m.Ended = b[1]&1 != 0, b[1]&2 != 0
	n, used := binary.Uvarint(b[2:])
	if used <= 0 {
		return 0, m, errBadMark
	}
	var read int
	if m.W, read = binary.Varint(b[2+used:]); read <= 0 {
		return 0, m, errBadMark
	}
	m.High = m.W
	return int(n), m, nil
}
