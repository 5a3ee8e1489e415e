package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// lookEvery is how often a source of several topics looks for topics and partitions that were not there before.
const lookEvery = 30 * time.Second

// A merge reads partition p of several topics as one, by time: of the records at hand the earliest comes first, and a topic with
// nothing at hand is waited for only while its broker is known to have more. Each topic has a goroutine that waits for its reader; one
// goroutine uses the merge itself.
type merge struct {
	topics    func(context.Context) ([]string, error)
	open      func(ctx context.Context, topic string, from int64) (*topicReader, error)
	log       wire.Log
	partition int32
	feeds     []*feed
	events    chan event
	ctx       context.Context
	end       context.CancelFunc
	done      sync.WaitGroup
	looked    time.Time
	news      bool
}

// A feed is one topic of a merge.
type feed struct {
	t     *topicReader
	waits bool          // a goroutine reads it
	want  chan struct{} // holds one token when the next batch may be waited for
	cur   *part         // nil: nothing at hand
	at    int64         // behind what was given out
	state connector.ReadState
	known bool // something has come: state is the broker's word
	holds []wire.Hold
}

// A part is a batch that is given out in pieces. It is released when nobody has a piece of it.
type part struct {
	b    *wire.Batch
	next int // the first record not given out
	refs atomic.Int32
}

func (p *part) release() {
	if p.refs.Add(-1) == 0 {
		p.b.Release()
	}
}

type event struct {
	feed  *feed
	batch *wire.Batch
	err   error
}

func openMerge[K, V any](ctx context.Context, s *TopicSource[K, V], l wire.Log, logger *slog.Logger, partition int32, at []wire.TopicOffset, how wire.ReadOptions) (*merge, error) {
	m := &merge{log: l, partition: partition, events: make(chan event)}
	m.topics = func(ctx context.Context) ([]string, error) { return s.Topics(ctx, l) }
	m.open = func(ctx context.Context, topic string, from int64) (*topicReader, error) {
		return openTopicReader(ctx, &s.reading, l, logger, wire.TopicPartition{Topic: topic, Partition: partition}, from, how)
	}
	m.ctx, m.end = context.WithCancel(context.Background())
	names, err := m.present(ctx)
	if err == nil {
		for _, n := range names {
			if err = m.add(ctx, n, placeOf(at, n)); err != nil {
				break
			}
		}
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// present are the topics that have this partition.
func (m *merge) present(ctx context.Context) ([]string, error) {
	m.looked = m.log.Now()
	names, err := m.topics(ctx)
	if err != nil {
		return nil, err
	}
	found, err := m.log.Topics(ctx, names...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return found[n].Partitions <= m.partition }), nil
}

func (m *merge) add(ctx context.Context, topic string, from int64) error {
	t, err := m.open(ctx, topic, from)
	if err != nil {
		return err
	}
	f := &feed{t: t, want: make(chan struct{}, 1), at: t.next}
	f.want <- struct{}{}
	m.feeds = append(m.feeds, f)
	return nil
}

// ask has every topic read: by a goroutine that waits, or with a ctx that has ended at once and on the spot, which is how a test polls.
func (m *merge) ask(ctx context.Context) error {
	for _, f := range m.feeds {
		switch {
		case f.waits:
		case ctx.Err() == nil:
			f.waits = true
			m.done.Go(func() { m.feed(f) })
		default:
			if err := m.poll(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// poll takes what one topic has at hand.
func (m *merge) poll(ctx context.Context, f *feed) error {
	select {
	case <-f.want:
	default:
		return nil
	}
	b, err := f.t.nextBatch(ctx)
	switch {
	case err == nil:
		m.took(event{f, b, nil})
	case errors.Is(err, ctx.Err()):
		f.want <- struct{}{}
	default:
		return err
	}
	return nil
}

// feed waits for one topic's batches, one at a time.
func (m *merge) feed(f *feed) {
	defer f.t.close()
	for {
		select {
		case <-f.want:
		case <-m.ctx.Done():
			return
		}
		b, err := f.t.nextBatch(m.ctx)
		select {
		case m.events <- event{f, b, err}:
		case <-m.ctx.Done():
			if b != nil {
				b.Release()
			}
			return
		}
	}
}

func (m *merge) close() {
	m.end()
	m.done.Wait()
	for _, f := range m.feeds {
		if f.cur != nil {
			f.cur.release()
		}
		if !f.waits {
			_ = f.t.close()
		}
	}
}

// next is the next run of records, or an empty one when what is known of a topic is news.
func (m *merge) next(ctx context.Context) (*run, error) {
	if m.log.Now().Sub(m.looked) > lookEvery {
		if err := m.look(ctx); err != nil {
			return nil, err
		}
	}
	if err := m.ask(ctx); err != nil {
		return nil, err
	}
	for {
		switch ready, any := m.ready(); {
		case ready && any:
			return m.take(), nil
		case m.news && !any:
			m.news = false
			return m.take(), nil
		}
		select {
		case e := <-m.events:
			if e.err != nil {
				return nil, e.err
			}
			m.took(e)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look reads topics and partitions that are new, all of them: nothing of them was there when the source began.
func (m *merge) look(ctx context.Context) error {
	names, err := m.present(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		if slices.ContainsFunc(m.feeds, func(f *feed) bool { return f.t.at.Topic == n }) {
			continue
		}
		at := wire.TopicPartition{Topic: n, Partition: m.partition}
		first, err := m.log.List(ctx, wire.Start, []wire.TopicPartition{at})
		if err != nil {
			return err
		}
		if err := m.add(ctx, n, first[at]); err != nil {
			return fmt.Errorf("reading the new topic %q: %w", n, err)
		}
	}
	return nil
}

func (m *merge) took(e event) {
	f := e.feed
	f.state, f.known, f.holds = stateOf(e.batch), true, e.batch.Holds()
	if len(e.batch.Records) == 0 {
		f.at = e.batch.Next
		e.batch.Release()
		m.news = true
		f.want <- struct{}{}
		return
	}
	f.cur = &part{b: e.batch}
	f.cur.refs.Add(1)
}

// ready reports whether the earliest record is known, and whether there is any.
func (m *merge) ready() (ready, any bool) {
	ready = true
	for _, f := range m.feeds {
		if f.cur != nil {
			any = true
		} else if !f.known || f.state.More {
			ready = false
		}
	}
	return ready, any
}

// A run is records of several topics in the order of their times.
type run struct {
	parts  []*part
	pieces []piece
	before []wire.TopicOffset // where each topic stood
	after  []wire.TopicOffset
	state  connector.ReadState
	holds  []wire.Hold // of topics that have nothing more at hand
	bytes  int
}

// A piece is one record of a run.
type piece struct {
	*part
	i     int
	topic int // its index in before
}

// take merges what is at hand until a topic that has more runs out.
func (m *merge) take() *run {
	r := new(run)
	for _, f := range m.feeds {
		r.before = append(r.before, wire.TopicOffset{Topic: f.t.at.Topic, Offset: f.at})
		if f.cur != nil {
			f.cur.refs.Add(1)
			r.parts = append(r.parts, f.cur)
		}
	}
	for {
		ready, any := m.ready()
		if !ready || !any {
			break
		}
		topic := m.earliest()
		f := m.feeds[topic]
		p := f.cur
		rec := &p.b.Records[p.next]
		r.pieces = append(r.pieces, piece{p, p.next, topic})
		r.bytes += recordSize + len(rec.Key) + len(rec.Value)
		f.at = rec.Offset + 1
		if p.next++; p.next == len(p.b.Records) {
			f.at = p.b.Next
			f.cur = nil
			p.release()
			f.want <- struct{}{}
		}
	}
	r.state = connector.ReadState{AtEnd: true}
	for _, f := range m.feeds {
		r.after = append(r.after, wire.TopicOffset{Topic: f.t.at.Topic, Offset: f.at})
		r.state.More = r.state.More || f.cur != nil || f.state.More || !f.known
		r.state.AtEnd = r.state.AtEnd && f.cur == nil && f.known && f.state.AtEnd
		r.state.Lag += f.state.Lag
		if f.cur != nil {
			r.state.Lag += int64(len(f.cur.b.Records) - f.cur.next)
		} else {
			r.holds = append(r.holds, f.holds...)
		}
	}
	return r
}

// earliest is the topic whose next record has the lowest time; of equals, the first.
func (m *merge) earliest() int {
	best := -1
	var time int64
	for i, f := range m.feeds {
		if f.cur == nil {
			continue
		}
		if t := f.cur.b.Records[f.cur.next].Time; best < 0 || t < time {
			best, time = i, t
		}
	}
	return best
}
