package stream

import "github.com/weirstream/weir/internal/overlay"

// A decoded is a record of a batch and its event time, or what is wrong with it.
type decoded[K, V any] struct {
	Record[K, V]
	time int64
	err  error
}

// A decoder has the batch that records are decoded of.
type decoder[K, V any] interface {
	Len() int
	decode(i int, d *decoded[K, V])
}

// nearby are the next records of a batch, decoded: one, or as many as somebody looks ahead for.
type nearby[K, V any] struct {
	lookout[K]
	records []decoded[K, V]
	first   int // the place in the batch of records[0]
}

// at is record i of a batch. Again is to decode it again. What failed ahead of its turn is tried again in its turn: the failure may have been an
// outage, which is over.
func (n *nearby[K, V]) at(b decoder[K, V], i int, again bool) *decoded[K, V] {
	at := i - n.first
	if at < 0 || at >= len(n.records) {
		n.fill(b, i)
		at = 0
	} else if again || at > 0 && n.records[at].err != nil {
		b.decode(i, &n.records[at])
	}
	return &n.records[at]
}

// fill decodes the records from i on.
func (n *nearby[K, V]) fill(b decoder[K, V], i int) {
	count := 1
	if n.ahead != nil {
		count = min(overlay.Ahead, b.Len()-i)
	}
	if cap(n.records) < count {
		n.records = make([]decoded[K, V], count)
	}
	n.first, n.records = i, n.records[:count]
	b.decode(i, &n.records[0])
	if n.ahead == nil {
		return
	}
	n.further(b)
	for at := range n.records {
		if r := &n.records[at]; r.err == nil && !r.NoKey {
			n.note(r.Key, r.time)
		}
	}
	n.tell()
}

// further decodes the records behind the first one, up to one that fails: in an outage each would be waited for. One whose decoder panics does so
// again in its turn.
func (n *nearby[K, V]) further(b decoder[K, V]) {
	at := 1
	defer func() {
		if recover() != nil {
			n.records = n.records[:at]
		}
	}()
	for ; at < len(n.records); at++ {
		if b.decode(n.first+at, &n.records[at]); n.records[at].err != nil {
			n.records = n.records[:at+1]
		}
	}
}

// drop forgets records, whose batch is done.
func (n *nearby[K, V]) drop() {
	clear(n.records)
	n.records = n.records[:0]
}

func (b *sourceBatch[K, V]) decode(i int, d *decoded[K, V]) {
	*d = decoded[K, V]{}
	d.err = b.Decode(i, &d.Record)
	d.time = millis(d.Time)
}
