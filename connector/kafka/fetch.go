package kafka

import (
	"cmp"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

const (
	// pollWait is how long a broker may hold a request for partitions that have nothing new. A request cannot be added to while
	// it waits, so only one of a broker's connections waits that long; the other is there for what becomes wanted meanwhile.
	pollWait  = 500 * time.Millisecond
	shortWait = 50 * time.Millisecond
	// answerBytes bounds one answer.
	answerBytes = 32 << 20
)

// A fetcher reads all partitions that one broker leads, on two connections. Each asks for whatever is wanted and not under way:
// a partition whose reader is slow just leaves the next request, and no partition waits for another.
type fetcher struct {
	reads   *reads
	addr    string
	cursors []*cursor // reads.mu
	turn    int       // reads.mu: where the next request begins among them
	lines   [2]*line
}

// A line is one of a fetcher's connections with its goroutine.
type line struct {
	f     *fetcher
	other *line
	wake  chan struct{} // holds one token when something may be wanted

	parked  bool // reads.mu: waits for wake
	polling bool // reads.mu: its request waits at the broker for news
}

func newFetcher(r *reads, addr string) *fetcher {
	f := &fetcher{reads: r, addr: addr}
	for i := range f.lines {
		f.lines[i] = &line{f: f, wake: make(chan struct{}, 1)}
	}
	f.lines[0].other, f.lines[1].other = f.lines[1], f.lines[0]
	for _, l := range f.lines {
		r.done.Go(l.run)
	}
	return f
}

func (f *fetcher) wakeLocked() {
	for _, l := range f.lines {
		if l.parked {
			select {
			case l.wake <- struct{}{}:
			default:
			}
		}
	}
}

// A wish is one partition in a request.
type wish struct {
	*cursor
	from  int64
	share int32
}

func (l *line) run() {
	var c *pipe
	defer func() {
		if c != nil {
			c.drop()
		}
	}()
	ctx := l.f.reads.ctx
	for {
		wishes, wait := l.plan()
		if wishes == nil {
			select {
			case <-l.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		var answer *fetched
		var err error
		if c == nil {
			c, err = l.f.reads.dialer.openPipe(ctx, l.f.addr)
		}
		if err == nil {
			answer, err = c.fetch(ctx, &l.f.reads.buffers, wishes, wait)
		}
		if err != nil {
			if c != nil {
				c.drop()
				c = nil
			}
			if ctx.Err() != nil {
				return
			}
			l.failed(wishes, err)
			continue
		}
		l.deliver(wishes, answer)
	}
}

// plan takes what is wanted now: nil is nothing. All of a request are of one isolation, because it is the request's.
func (l *line) plan() ([]wish, time.Duration) {
	r := l.f.reads
	r.mu.Lock()
	defer r.mu.Unlock()
	l.parked, l.polling = true, false
	wanted, behind := l.f.wantedLocked()
	wait := time.Duration(0)
	switch {
	case len(wanted) == 0:
		return nil, 0
	case len(behind) > 0:
		wanted = behind
		if l.other.parked && len(behind) > 1 {
			// The other connection is free: each takes half, and the halves are decoded side by side.
			wanted = behind[:(len(behind)+1)/2]
			defer l.f.wakeLocked()
		}
	case l.other.polling:
		wait = shortWait
	case !l.other.parked:
		// Nothing is known to be there, and the other line will be back within shortWait or has data under way: it wakes this one, and
		// then all caught-up partitions wait in one request.
		return nil, 0
	default:
		wait, l.polling = pollWait, true
	}
	l.parked = false
	wishes := l.f.wishLocked(wanted, len(behind) > 0)
	if len(wishes) < len(wanted) {
		l.f.wakeLocked()
	}
	return wishes, wait
}

// wantedLocked are the partitions to ask for, and those of them that have something. It begins with another one each time: what does not
// fit into one request must not be the same each time.
func (f *fetcher) wantedLocked() (wanted, behind []*cursor) {
	for i := range f.cursors {
		c := f.cursors[(f.turn+i)%len(f.cursors)]
		if !c.wantsLocked() {
			continue
		}
		wanted = append(wanted, c)
		if c.behindLocked() {
			behind = append(behind, c)
		}
	}
	return wanted, behind
}

// wishLocked makes a request of what fits into an answer, all of one isolation. What waits for news needs no room. A partition is in it once: asked
// for it from two offsets, a broker answers one of them and does not say which. Its other readers wait for their turn.
func (f *fetcher) wishLocked(wanted []*cursor, behind bool) (wishes []wish) {
	committed, room := wanted[0].how.Committed, answerBytes
	asked := make(map[wire.TopicPartition]bool, len(wanted))
	var second *cursor // the first that waits for another one's turn
	for _, c := range wanted {
		if behind && room <= 0 {
			break
		}
		if c.how.Committed != committed {
			continue
		}
		if asked[c.at] {
			second = cmp.Or(second, c)
			continue
		}
		asked[c.at] = true
		c.fetching = true
		wishes = append(wishes, wish{c, c.next, c.share})
		room -= int(c.share)
	}
	f.turn = (f.turn + len(wishes)) % len(f.cursors)
	if second != nil {
		f.turn = slices.Index(f.cursors, second)
	}
	return wishes
}

// failed sends the partitions of a request that got no answer to look for their leaders.
func (l *line) failed(wishes []wish, err error) {
	r := l.f.reads
	r.often.warn(r.log, "fetching failed, looking for the partitions' leaders", l.f.addr, "partitions", len(wishes), "error", err)
	r.mu.Lock()
	for _, w := range wishes {
		w.fetching = false
		if !w.closed {
			r.dir.forget(w.at)
			r.strayLocked(w.cursor)
		}
	}
	l.f.wakeLocked()
	r.mu.Unlock()
}

// deliver hands an answer to its cursors.
func (l *line) deliver(wishes []wish, answer *fetched) {
	r := l.f.reads
	if answer.throttle > 0 {
		r.log.Debug("kafka: the broker throttles fetches", "broker", l.f.addr, "for", answer.throttle)
	}
	found := r.unpackAll(wishes, answer)
	answer.buffer.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range wishes {
		w.fetching = false
		block := &answer.blocks[i]
		if w.closed {
			if b := found[i].batch; b != nil {
				b.Release()
			}
			continue
		}
		switch {
		case !block.known: // throttled, or an old session: ask again
		case block.err != sarama.ErrNoError:
			l.refusedLocked(w.cursor, block.err)
		case found[i].err != nil:
			w.failLocked(found[i].err)
		default:
			w.tookLocked(block, found[i])
		}
	}
	l.f.wakeLocked()
}

// unpacked is what came of one wish.
type unpacked struct {
	batch *wire.Batch
	cut   bool // there is something, and not one whole batch of it came
	err   error
}

// smallShare is the part of an answer below which a batch is copied out of it.
const smallShare = 16

// unpackAll unpacks the answer. Batches that point into its buffer have a hold on it.
func (d *dialer) unpackAll(wishes []wish, answer *fetched) []unpacked {
	found := make([]unpacked, len(wishes))
	inside := make([]bool, len(wishes))
	total := 0
	for i, w := range wishes {
		if block := &answer.blocks[i]; block.known && block.err == sarama.ErrNoError {
			found[i].batch, inside[i], found[i].err = d.unpack(w, block)
			found[i].cut = found[i].batch == nil && block.isCut()
		}
		if b := found[i].batch; b != nil {
			total += b.Bytes
		}
	}
	for i, f := range found {
		switch {
		case !inside[i]:
		case f.batch.Bytes < total/smallShare:
			detach(f.batch)
		default:
			keep(f.batch, answer.buffer)
		}
	}
	return found
}

// keep gives a batch a hold on the answer that it points into.
func keep(b *wire.Batch, in *buffer) {
	in.hold()
	free := b.Free
	b.Free = func() {
		free()
		in.release()
	}
}

// tookLocked moves the cursor on.
func (c *cursor) tookLocked(block *block, u unpacked) {
	c.high, c.stable, c.heard = block.high, block.stable, time.Now()
	b := u.batch
	if b == nil {
		if u.cut {
			c.share = min(c.share*2, fetchBytesMost)
		}
		c.tell()
		return
	}
	c.next = b.Next
	if len(b.Records) > 0 {
		c.fillLocked(b)
	}
	c.tell()
}

// refusedLocked acts on a partition's error.
func (l *line) refusedLocked(c *cursor, k sarama.KError) {
	r := l.f.reads
	switch k {
	case sarama.ErrOffsetOutOfRange, sarama.ErrTopicAuthorizationFailed, sarama.ErrUnsupportedCompressionType:
		c.failLocked(named(k))
	default:
		// Most say that the leader has moved. Whatever it is, it is asked again after a wait.
		r.often.warn(r.log, "cannot fetch now", l.f.addr, "topic", c.at.Topic, "partition", c.at.Partition, "error", k)
		r.dir.forget(c.at)
		r.strayLocked(c)
	}
}
