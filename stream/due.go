package stream

import (
	"container/heap"
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// dues say when something is due for keys, earliest first: sessions close, say. They are state, so that what is due comes after a crash
// without another record of its key.
//
// A row of the store is (bucket, key): something of the key is due in that stretch of time, or later. A due time may move on without
// being told here: that is found out when its bucket comes, and costs one row per stretch instead of one per record. Only
// the bucket at hand is in memory, in a heap by due time and key. Buckets that have rows are kept in order.
type dues struct {
	store   *overlay.Store[int64]
	node    *task.Node
	grain   int64 // length of a bucket
	buckets []int64
	heap    dueHeap
	reached int64 // buckets up to here are in the heap
	buf     []byte

	// next says when something of a key is due, if anything is.
	next func(key []byte) (at int64, ok bool)
	// fire does what is due for a key up to now.
	fire func(key []byte, now int64)
}

// A due is a key in the heap.
type due struct {
	at, bucket int64
	key        string
}

type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].key < h[j].key
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(d any)   { *h = append(*h, d.(due)) }
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = due{}
	*h = (*h)[:last]
	return d
}

// dueStore is the name of the store of a node's dues.
func dueStore(name string) string { return name + "-due" }

// bucketsPerReach is how finely the time that dues lie ahead is cut: what lies in one bucket is in memory together.
const bucketsPerReach = 32

// openDues opens those of the node being made, whose due times lie about reach ahead of the watermark.
func openDues(in *instance, reach int64, key interface{ Format() string }) *dues {
	name := dueStore(in.node.Stores[0])
	return &dues{node: in.self(), grain: max(1, reach/bucketsPerReach), reached: task.MinTime,
		store: openDueStore(in, name, key)}
}

// add says that something of a key is due at a time, at the earliest.
func (d *dues) add(key []byte, at int64) {
	b := d.bucket(at)
	d.store.Put(d.row(b, key), 0)
	if b <= d.reached {
		heap.Push(&d.heap, due{at, b, string(key)})
		d.node.At(at)
		return
	}
	if i, there := slices.BinarySearch(d.buckets, b); !there {
		d.buckets = slices.Insert(d.buckets, i, b)
		d.node.At(b)
	}
}

func (d *dues) bucket(at int64) int64 {
	if at == span.Never {
		return at
	}
	return at - ((at%d.grain)+d.grain)%d.grain
}

func (d *dues) row(bucket int64, key []byte) []byte {
	d.buf = keys.AppendByTime(d.buf[:0], bucket, key)
	return d.buf
}

// advance fires what is due at the watermark, in the order of due times, then of keys.
func (d *dues) advance(w int64) {
	for {
		limit, more := w, len(d.buckets) > 0 && d.buckets[0] <= w
		if more {
			limit = d.buckets[0] - 1
		}
		for len(d.heap) > 0 && d.heap[0].at <= limit {
			d.fireFirst()
		}
		if !more {
			break
		}
		b := d.buckets[0]
		d.buckets = d.buckets[1:]
		d.activate(b)
	}
	if w != task.MaxTime {
		d.reached = max(d.reached, d.bucket(w))
	}
	d.ask()
}

// ask asks to be called when something is due next.
func (d *dues) ask() {
	if len(d.heap) > 0 {
		d.node.At(d.heap[0].at)
	}
	if len(d.buckets) > 0 {
		d.node.At(d.buckets[0])
	}
}

// activate brings a bucket into the heap. What is due later by now moves on.
func (d *dues) activate(bucket int64) {
	d.reached = max(d.reached, bucket)
	for row := range d.store.Keys(keys.AppendTime(nil, bucket)) {
		key := row[8:]
		at, ok := d.next(key)
		if ok && d.bucket(at) <= d.reached {
			heap.Push(&d.heap, due{at, bucket, string(key)})
			continue
		}
		d.store.Delete(row)
		if ok {
			d.add(key, at)
		}
	}
}

// fireFirst fires the first of the heap, and moves it on to what is due for its key next.
func (d *dues) fireFirst() {
	first := heap.Pop(&d.heap).(due)
	key := []byte(first.key)
	d.fire(key, first.at)
	at, ok := d.next(key)
	if ok && d.bucket(at) == first.bucket {
		heap.Push(&d.heap, due{at, first.bucket, first.key})
		return
	}
	d.store.Delete(d.row(first.bucket, key))
	if ok {
		d.add(key, at)
	}
}

// start finds the buckets that have rows, by stepping from each to the next.
func (d *dues) start() {
	from := keys.AppendTime(nil, task.MinTime)
	for {
		b, ok := d.after(from)
		if !ok {
			break
		}
		d.buckets = append(d.buckets, b)
		if b == span.Never {
			break
		}
		from = keys.End(keys.AppendTime(nil, b))
	}
	d.ask()
}

// after is the first bucket that has a row from a key on.
func (d *dues) after(from []byte) (bucket int64, ok bool) {
	for row := range d.store.Range(from, nil) {
		b, _, err := keys.CutTime(row)
		if err != nil {
			panic(task.Failure{Err: err})
		}
		return b, true
	}
	return 0, false
}

// note and noted keep a number beside the rows: it sorts before all of them.
func (d *dues) note(n int64) { d.store.Put(nil, n) }

func (d *dues) noted() int64 {
	n, _ := d.store.Get(nil)
	return n
}

func openDueStore(in *instance, name string, key formatter) *overlay.Store[int64] {
	return openStore(in, "due", name, anyFormat{key}, serde.Int64, true, nil, false).Grouped(timeBytes)
}

// anyFormat stands for a serde of which only the format is asked.
type anyFormat struct{ formatter }

func (anyFormat) Append(dst []byte, _ struct{}) ([]byte, error) { return dst, nil }
func (anyFormat) Decode([]byte) (struct{}, error)               { return struct{}{}, nil }
