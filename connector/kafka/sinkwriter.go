package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
)

// routeWithin is how long Write may wait for the cluster to describe a topic that a route names for the first time.
const routeWithin = 10 * time.Second

// A sinkWriter writes one task's records. One goroutine uses it.
type sinkWriter[K, V any] struct {
	sink     *TopicSink[K, V]
	log      wire.Log
	done     func()
	appender wire.Appender
	topics   map[string]*sinkTopic[K, V]
	last     *sinkTopic[K, V] // that a record went to, and its name: most go where the one before went
	lastName string
	first    int32 // the partition to begin with for records without a key: another one for each task

	own     wire.Writer // outside the commit log
	n       uint64      // its next cut
	dropped int64       // by the route

	keyBytes, valueBytes []byte
	headers              []wire.Header
}

func (w *sinkWriter[K, V]) openOwn(ctx context.Context, env connector.Env, task connector.Task) (err error) {
	if w.own, err = w.log.Writer(ctx, wire.WriterConfig{Name: task.Name}); err != nil {
		return err
	}
	w.n = 1
	w.appender, err = w.own.Appender(task.Name, w.n)
	return err
}

// Dropped is how many records the route dropped since the last call. For the engine's counters.
func (w *sinkWriter[K, V]) Dropped() int64 {
	n := w.dropped
	w.dropped = 0
	return n
}

// Write encodes the record and appends it.
func (w *sinkWriter[K, V]) Write(r *connector.Record[K, V]) error {
	t, err := w.topicOf(r)
	if t == nil || err != nil {
		return err
	}
	key, value, err := w.encode(t, r)
	if err != nil {
		return err
	}
	at := r.Time.UnixMilli()
	if err := t.limits.check(at, w.log.Now); err != nil {
		return err
	}
	if size := len(key) + len(value) + w.setHeaders(r.Headers); size > t.MaxBytes() {
		return fmt.Errorf("the record has %d bytes, topic %q takes %d", size, w.nameOf(r), t.MaxBytes())
	}
	p, err := w.partitionOf(t, r, key)
	if err != nil {
		return err
	}
	t.Append(p, at, key, value, w.headers)
	return nil
}

func (w *sinkWriter[K, V]) nameOf(r *connector.Record[K, V]) string {
	if w.sink.route == nil {
		return w.sink.topic
	}
	return w.sink.route(r)
}

// topicOf is the record's topic, nil when the route drops it.
func (w *sinkWriter[K, V]) topicOf(r *connector.Record[K, V]) (*sinkTopic[K, V], error) {
	name := w.nameOf(r)
	if name == "" {
		w.dropped++
		return nil, nil
	}
	if w.last != nil && w.lastName == name {
		return w.last, nil
	}
	t := w.topics[name]
	if t != nil && t.missing == nil {
		w.last, w.lastName = t, name
	}
	if t != nil && (t.missing == nil || time.Now().Before(t.until)) {
		return t, t.missing
	}
	ctx, cancel := context.WithTimeout(context.Background(), routeWithin)
	defer cancel()
	t, err := w.open(ctx, name)
	if err != nil {
		err = fmt.Errorf("route to topic %q: %w", name, err)
		w.topics[name] = &sinkTopic[K, V]{missing: err, until: time.Now().Add(missingFor)}
	}
	return t, err
}

// encode makes the record's bytes; nil is null.
func (w *sinkWriter[K, V]) encode(t *sinkTopic[K, V], r *connector.Record[K, V]) (key, value []byte, err error) {
	if !r.NoKey && !t.keyless && (t.nullKey == nil || !t.nullKey.IsNull(r.Key)) {
		if w.keyBytes, err = t.key.Append(notNil(w.keyBytes), r.Key); err != nil {
			return nil, nil, fmt.Errorf("key: %w", err)
		}
		key = w.keyBytes
	}
	if !r.Deleted && (t.nullValue == nil || !t.nullValue.IsNull(r.Value)) {
		if w.valueBytes, err = t.value.Append(notNil(w.valueBytes), r.Value); err != nil {
			return nil, nil, fmt.Errorf("value: %w", err)
		}
		value = w.valueBytes
	}
	return key, value, nil
}

// notNil is an empty buffer: a value whose encoding is empty is no null.
func notNil(b []byte) []byte {
	if b == nil {
		return make([]byte, 0, 128)
	}
	return b[:0]
}

// setHeaders converts headers and returns their size.
func (w *sinkWriter[K, V]) setHeaders(headers connector.Headers) (size int) {
	w.headers = w.headers[:0]
	for _, h := range headers {
		w.headers = append(w.headers, wire.Header(h))
		size += headerOverhead + len(h.Key) + len(h.Value)
	}
	return size
}

func (w *sinkWriter[K, V]) partitionOf(t *sinkTopic[K, V], r *connector.Record[K, V], key []byte) (int32, error) {
	n := t.Partitions()
	switch {
	case w.sink.partition != nil:
		p := w.sink.partition(r, int(n))
		if p < 0 || p >= int(n) {
			return 0, fmt.Errorf("the sink's Partition function picked %d, topic %q has partitions 0 to %d", p, w.nameOf(r), n-1)
		}
		return int32(p), nil
	case key != nil:
		return partition.Of(key, n), nil
	}
	return t.spread.next(n, len(w.valueBytes)), nil
}

// A spread deals records without a key to partitions: some to one before it goes on to the next, so that batches are of a useful size.
type spread struct {
	at    int32
	bytes int
}

const spreadBytes = 16 << 10

func (s *spread) next(n int32, size int) int32 {
	if s.bytes += size + recordOverhead; s.bytes > spreadBytes {
		s.at, s.bytes = s.at+1, 0
	}
	s.at %= n
	return s.at
}

// Flush waits until everything is acknowledged. Inside the commit log that is the engine's to do.
func (w *sinkWriter[K, V]) Flush(ctx context.Context) error {
	if w.own == nil {
		return nil
	}
	w.appender.Cut(w.n)
	_, err := w.own.Flush(ctx, w.n)
	w.n++
	return err
}

// Close ends the writer.
func (w *sinkWriter[K, V]) Close() error {
	defer w.done()
	if w.own == nil {
		return nil
	}
	if w.appender != nil {
		w.appender.Close()
	}
	return w.own.Close()
}
