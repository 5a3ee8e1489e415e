package kafka

import (
	"cmp"
	"context"
	"net"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// A block is what an answer says of one partition. records point into the answer.
type block struct {
	known        bool // the answer has one
	err          sarama.KError
	high, stable int64
	aborted      []abortedTx
	records      []byte
}

// An abortedTx is a transaction that was aborted: batches of its producer from its first offset to the next marker are not to be seen.
type abortedTx struct{ producer, first int64 }

// A fetched is an answer: a block for each wish, in their order, and the memory that they point into.
type fetched struct {
	blocks   []block
	throttle time.Duration
	buffer   *buffer
}

// fetch asks for the wishes and waits for the answer. The caller has a hold on the answer's buffer.
func (p *pipe) fetch(ctx context.Context, s *buffers, wishes []wish, wait time.Duration) (*fetched, error) {
	stop := p.during(ctx)
	defer stop()
	if p.renewDue() {
		if err := p.renew(); err != nil {
			return nil, err
		}
	}
	id, err := p.send(ctx, net.Buffers{p.fetchRequest(nil, wishes, wait)})
	if err != nil {
		return nil, err
	}
	a := &fetched{blocks: make([]block, len(wishes))}
	b, err := p.receive(id, func(n int) []byte {
		a.buffer = s.get(n)
		return a.buffer.b
	})
	if err == nil {
		err = a.parse(b, wishes)
	}
	if err != nil {
		if a.buffer != nil {
			a.buffer.release()
		}
		return nil, err
	}
	if a.throttle > 0 {
		p.throttle = time.Now().Add(a.throttle)
	}
	return a, nil
}

// fetchRequest makes a request without a session: it says all that it wants. The wishes are sorted by topic.
func (p *pipe) fetchRequest(b []byte, wishes []wish, wait time.Duration) []byte {
	isolation := byte(0)
	if len(wishes) > 0 && wishes[0].how.Committed {
		isolation = 1
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(a.at.Topic, b.at.Topic) })
	b = p.begin(b, keyFetch, fetchVersion)
	b = appendInt32(b, -1) // no replica
	b = appendInt32(b, int32(wait.Milliseconds()))
	b = appendInt32(b, 1) // least bytes
	b = appendInt32(b, answerBytes)
	b = append(b, isolation)
	b = appendInt32(b, 0)
	b = appendInt32(b, -1)
	groups := slices.Collect(chunk(wishes))
	b = appendInt32(b, int32(len(groups)))
	for _, g := range groups {
		b = appendString(b, g[0].at.Topic)
		b = appendInt32(b, int32(len(g)))
		for _, w := range g {
			b = appendInt32(b, w.at.Partition)
			b = appendInt32(b, -1) // the leader's epoch is not known
			b = appendInt64(b, w.from)
			b = appendInt64(b, -1)
			b = appendInt32(b, w.share)
		}
	}
	b = appendInt32(b, 0)      // nothing to forget
	return appendString(b, "") // no rack
}

// chunk yields the wishes of a topic together; they are sorted.
func chunk(wishes []wish) func(yield func([]wish) bool) {
	return func(yield func([]wish) bool) {
		for len(wishes) > 0 {
			n := 1
			for n < len(wishes) && wishes[n].at.Topic == wishes[0].at.Topic {
				n++
			}
			if !yield(wishes[:n]) {
				return
			}
			wishes = wishes[n:]
		}
	}
}

func (f *fetched) parse(raw []byte, wishes []wish) error {
	a := answerBody{b: raw}
	f.throttle = time.Duration(a.int32()) * time.Millisecond
	if k := sarama.KError(a.int16()); k != sarama.ErrNoError {
		return k
	}
	a.int32() // session
	next := 0
	for range a.count(6) {
		topic := a.string()
		for range a.count(42) {
			partition := a.int32()
			b := a.block()
			// Brokers answer in the order they were asked in; it is looked for elsewhere all the same.
			for n := range wishes {
				i := (next + n) % len(wishes)
				if w := wishes[i]; w.at.Partition == partition && w.at.Topic == string(topic) {
					f.blocks[i], next = b, i+1
					break
				}
			}
		}
	}
	if a.short {
		return errShort
	}
	return nil
}

func (a *answerBody) block() block {
	b := block{known: true, err: sarama.KError(a.int16()), high: a.int64(), stable: a.int64()}
	a.int64() // where the partition begins
	if n := a.count(16); n > 0 {
		b.aborted = make([]abortedTx, n)
		for i := range b.aborted {
			b.aborted[i] = abortedTx{a.int64(), a.int64()}
		}
	}
	a.int32() // a better replica
	b.records = a.bytes()
	return b
}
