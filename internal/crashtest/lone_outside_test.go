package crashtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// lines are the input: two partitions that grow by a chunk at a time. From the third on, each begins with a record that is late.
type lines struct{ parts [][]given }

const (
	loneKeys  = 4
	loneChunk = 12
)

func lineKey(i int) string { return fmt.Sprint("k", i%loneKeys) }

func (s *lines) put(chunk int) {
	for p := range s.parts {
		if chunk >= 2 {
			s.add(p, p, eventTime) // the partition has that key, and closed this window long ago
		}
	}
	for i := chunk * loneChunk; i < (chunk+1)*loneChunk; i++ {
		s.add(i%2, i, lineTime(i))
	}
}

// lineTime is 10 s behind that of the line before: no window has more than one of a key, but for late ones.
func lineTime(i int) time.Time { return eventTime.Add(time.Duration(i) * 10 * time.Second) }

func (s *lines) add(p, i int, at time.Time) {
	s.parts[p] = append(s.parts[p], given{rec: wire.Record{Time: at.UnixMilli(), Key: []byte(lineKey(i)), Value: []byte("v")}})
}

func (s *lines) Name() string                                           { return "in" }
func (s *lines) Partitions(context.Context, connector.Env) (int, error) { return len(s.parts), nil }

// Open is connector.Source's.
func (s *lines) Open(_ context.Context, _ connector.Env, partition int, from connector.Position) (connector.Reader[string, string], error) {
	r := &lineReader{s: s, partition: partition}
	if from == "" {
		return r, nil
	}
	var err error
	r.next, err = strconv.Atoi(string(from))
	return r, err
}

type lineReader struct {
	s         *lines
	partition int
	next      int
}

// Next returns what is new.
func (r *lineReader) Next(ctx context.Context) (connector.Batch[string, string], error) {
	b := &connector.Values[string, string]{After: connector.ReadState{AtEnd: true}}
	for _, g := range r.s.parts[r.partition][r.next:] {
		r.next++
		b.Records = append(b.Records, connector.Record[string, string]{Key: string(g.rec.Key), Value: string(g.rec.Value), Time: time.UnixMilli(g.rec.Time)})
		b.Positions = append(b.Positions, connector.Position(strconv.Itoa(r.next)))
	}
	if len(b.Records) == 0 {
		return nil, ctx.Err()
	}
	return b, nil
}

func (r *lineReader) Close() error { return nil }

// A loneBackend is the app's disk.
type loneBackend struct{ l *lone }

func (b loneBackend) Open(context.Context, string) (state.DB, error) {
	return nil, errors.New("an app opens its state with its settings")
}

// OpenWith opens what the disk has. Every checkpoint is a synced batch, and the backend must know.
func (b loneBackend) OpenWith(ctx context.Context, dir string, s state.Settings) (state.DB, error) {
	if !s.Synced {
		b.l.problems = append(b.l.problems, errors.New("the backend was not told that batches are synced"))
	}
	db, err := b.l.disk.Open(ctx, dir)
	return loneDB{db, b.l}, err
}

type loneDB struct {
	state.DB
	l *lone
}

// Apply is a step.
func (db loneDB) Apply(b *state.Batch, sync bool) error {
	return db.l.step("batch", func() error { return db.DB.Apply(b, sync) })
}

// An outsider is a sink with two phases whose calls are steps. It remembers what it was asked for.
type outsider struct {
	*memory.Collector[string, int64]
	l *lone
}

func (o *outsider) place(t connector.Task) string {
	return fmt.Sprint(o.Name(), " of ", t.Name, "/", t.Partition)
}

// OpenTx is connector.TwoPhaseSink's.
func (o *outsider) OpenTx(ctx context.Context, env connector.Env, t connector.Task) (connector.TxWriter[string, int64], error) {
	w, err := o.Collector.OpenTx(ctx, env, t)
	return &outsideWriter{w, o, o.place(t)}, err
}

func (o *outsider) Commit(ctx context.Context, env connector.Env, h connector.Handle) error {
	return o.l.step(o.Name()+" commit", func() error {
		o.l.committed(o.Name(), h)
		return o.Collector.Commit(ctx, env, h)
	})
}

func (o *outsider) Recover(ctx context.Context, env connector.Env, t connector.Task, committed []connector.Handle) error {
	return o.l.step(o.Name()+" recover", func() error {
		delete(o.l.open, o.place(t))
		for _, h := range committed {
			o.l.committed(o.Name(), h)
		}
		return o.Collector.Recover(ctx, env, t, committed)
	})
}

func (l *lone) committed(sink string, h connector.Handle) {
	l.highest = max(l.highest, l.begun[sink+" "+string(h)])
	for place, open := range l.open {
		if open == string(h) {
			delete(l.open, place)
		}
	}
}

type outsideWriter struct {
	connector.TxWriter[string, int64]
	o     *outsider
	place string
}

// Prepare is a step. Checkpoints follow one another, over restarts too, and none is prepared while a handle waits.
func (w *outsideWriter) Prepare(ctx context.Context, n uint64) (h connector.Handle, err error) {
	l := w.o.l
	err = l.step(w.o.Name()+" prepare", func() (err error) {
		if n <= l.highest {
			l.problems = append(l.problems, fmt.Errorf("%s: checkpoint %d is prepared behind %d", w.place, n, l.highest))
		}
		if open := l.open[w.place]; open != "" {
			l.problems = append(l.problems, fmt.Errorf("%s: checkpoint %d is prepared while handle %s waits", w.place, n, open))
		}
		if h, err = w.TxWriter.Prepare(ctx, n); h != nil {
			l.open[w.place], l.begun[w.o.Name()+" "+string(h)] = string(h), n
		}
		return err
	})
	return h, err
}
