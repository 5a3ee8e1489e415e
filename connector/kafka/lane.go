package kafka

import (
	"slices"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A lane is the way to one partition, shared by all appenders of a writer. At most one of its parcels is in flight, so order holds
// whatever is sent again, and so does the rule that a partition has records of one transactional id under way at a time.
//
// Lock order: a lane's lock, then its writer's.
type lane struct {
	w    *writer
	at   wire.TopicPartition
	most int // a parcel's greatest size

	mu       sync.Mutex
	open     []*parcel // being filled, one per checkpoint, the earlier first: never more than two
	queue    []*parcel // sealed, in the order they leave
	inFlight *parcel
	listed   bool // it is in some list of lanes that have something to send
	sequence [2]count
}

// A count is the next sequence number of a producer in a partition. Under transactions each checkpoint begins at 0 with an epoch of its own.
type count struct {
	n    uint64
	next int32
}

// append puts a record into the open parcel of checkpoint n.
func (l *lane) append(n uint64, at int64, key, value []byte, headers []wire.Header) {
	size := recordOverhead + len(key) + len(value)
	for _, h := range headers {
		size += headerOverhead + len(h.Key) + len(h.Value)
	}
	l.mu.Lock()
	p := l.parcelLocked(n)
	if !p.fits(size, l.most, at) {
		l.sealLocked(p)
		p = l.parcelLocked(n)
	}
	before := cap(p.data)
	p.put(at, key, value, headers)
	if cap(p.data) != before {
		l.w.grew(p)
	}
	l.mu.Unlock()
}

// parcelLocked is the open parcel of checkpoint n.
func (l *lane) parcelLocked(n uint64) *parcel {
	for _, p := range l.open {
		if p.n == n {
			return p
		}
	}
	p := l.w.parcel(l, n)
	l.open = append(l.open, p)
	for i := len(l.open) - 1; i > 0 && l.open[i-1].n > n; i-- {
		l.open[i-1], l.open[i] = l.open[i], l.open[i-1]
	}
	return p
}

// sealLocked ends the filling of a parcel. Those of earlier checkpoints go before it: that keeps each appender's order.
func (l *lane) sealLocked(last *parcel) {
	for len(l.open) > 0 {
		p := l.open[0]
		l.open = append(l.open[:0], l.open[1:]...)
		l.queue = append(l.queue, p)
		if p == last {
			break
		}
	}
	l.offerLocked()
}

// seal lets everything up to checkpoint n go.
func (l *lane) seal(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) > 0 && l.open[0].n <= n {
		l.sealLocked(l.open[0])
	}
}

// ripen is called when a parcel is old enough to go. While the lane is busy it goes on filling: it could not leave anyway.
func (l *lane) ripen(p *parcel, closes time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !slices.Contains(l.open, p) || p.closes != closes: // it left, and may be in use for something else
	case l.inFlight != nil || len(l.queue) > 0:
		p.due = true
	default:
		l.sealLocked(p)
	}
}

// offerLocked lists the lane where its next parcel can be sent from.
func (l *lane) offerLocked() {
	if !l.listed && l.inFlight == nil && len(l.queue) > 0 {
		l.listed = true
		l.w.offer(l, l.queue[0].n)
	}
}

// headOf is the checkpoint of the parcel to send next. The lane is listed, so there is one.
func (l *lane) headOf() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue[0].n
}

// head is the parcel to send now; it is in flight from then on.
func (l *lane) head(id producer) (*parcel, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = false
	p := l.queue[0]
	l.queue = l.queue[1:]
	l.inFlight = p
	if p.batch == nil {
		p.sequence = l.takeLocked(p)
		err := p.pack(l.w.how.Compression, &l.w.codecs, id, l.w.tx != nil)
		l.w.grew(p)
		return p, err
	}
	return p, nil
}

func (l *lane) takeLocked(p *parcel) int32 {
	c := &l.sequence[0]
	if l.w.tx != nil {
		c = &l.sequence[p.n%2]
		if c.n != p.n {
			*c = count{n: p.n}
		}
	}
	first := c.next
	c.next = int32((int64(first) + int64(p.records)) & 0x7fffffff)
	return first
}

// acknowledged ends the flight of a parcel.
func (l *lane) acknowledged(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight = nil
	if len(l.queue) == 0 {
		for i := len(l.open) - 1; i >= 0; i-- {
			if l.open[i].due {
				l.sealLocked(l.open[i])
				break
			}
		}
	}
	l.offerLocked()
}

// again puts a parcel back in front, to be sent when the lane is offered the next time.
func (l *lane) again(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight = nil
	l.queue = append([]*parcel{p}, l.queue...)
	l.listed = true // the caller lists it
}

// A producer is an idempotent producer's identity.
type producer struct {
	id    int64
	epoch int16
}
