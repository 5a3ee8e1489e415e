package processtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

// A load is records of a hundred bytes' keys, sent as time goes by, and what comes out of them as a consumer sees it: the counts of each key
// go up by one, and nothing is heard of a partition for a while.
type load struct {
	client *kgo.Client
	in     string
	keys   int

	mu      sync.Mutex
	sent    []int32 // of each key
	total   int
	counted []int32
	at      []int64     // the offset of each key's last count
	wrong   *kgo.Record // the first that is not what it should be
	arrived int
	last    []time.Time // by partition
	silent  []time.Duration
	err     error
}

// newLoad begins to read what comes out. It ends with the test.
func newLoad(t *testing.T, brokers []string, in, out string, keys, partitions int) *load {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MaxBufferedRecords(50_000),
		kgo.ConsumeTopics(out), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	l := &load{client: client, in: in, keys: keys, sent: make([]int32, keys), counted: make([]int32, keys), at: make([]int64, keys),
		last: make([]time.Time, partitions), silent: make([]time.Duration, partitions)}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(l.take)
		}
	})
	t.Cleanup(func() {
		cancel()
		reading.Wait()
		client.Close()
	})
	return l
}

// take judges a record that came out.
func (l *load) take(r *kgo.Record) {
	key, err1 := strconv.Atoi(string(r.Key))
	n, err2 := serde.Int64.Decode(r.Value)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived++
	if last := l.last[r.Partition]; !last.IsZero() {
		l.silent[r.Partition] = max(l.silent[r.Partition], now.Sub(last))
	}
	l.last[r.Partition] = now
	switch {
	case l.err != nil:
	case err1 != nil || err2 != nil:
		l.err = errors.Join(err1, err2)
	case n != int64(l.counted[key])+1:
		l.wrong = r
		l.err = fmt.Errorf("key %d: %d at partition %d, offset %d follows %d at %d", key, n, r.Partition, r.Offset, l.counted[key], l.at[key])
	default:
		l.counted[key]++
		l.at[key] = r.Offset
	}
}

// send sends one record of a key. It waits for room, not for the broker.
func (l *load) send(ctx context.Context, key int) {
	l.mu.Lock()
	l.sent[key]++
	l.total++
	l.mu.Unlock()
	l.client.Produce(ctx, &kgo.Record{Topic: l.in, Key: fmt.Appendf(nil, "%0100d", key), Value: []byte("x")}, func(_ *kgo.Record, err error) {
		if err != nil && ctx.Err() == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.err = errors.Join(l.err, err)
		}
	})
}

// fill sends every key once, so many a second.
func (l *load) fill(ctx context.Context, perSecond int) error {
	l.steadily(ctx, perSecond, l.keys, func(n int) int { return n })
	return l.client.Flush(ctx)
}

// steadily sends up to so many records, so many a second, until ctx ends.
func (l *load) steadily(ctx context.Context, perSecond, most int, key func(n int) int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began, n := time.Now(), 0; n < most; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := min(most, int(time.Since(began).Seconds()*float64(perSecond))); n < due; n++ {
			l.send(context.Background(), key(n))
		}
	}
}

// pace sends so many records a second, of keys in no order, until stop is called.
func (l *load) pace(perSecond int) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	sending.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		l.steadily(ctx, perSecond, math.MaxInt, func(int) int { return r.IntN(l.keys) })
	})
	return func() error {
		cancel()
		sending.Wait()
		return l.client.Flush(context.Background())
	}
}

// watch begins a stretch of time.
func (l *load) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = make([]time.Duration, len(l.silent))
}

// silences ends it: how long each partition was silent, with those that still are.
func (l *load) silences() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]time.Duration, len(l.silent))
	for p := range all {
		all[p] = max(l.silent[p], time.Since(l.last[p]))
	}
	return all
}

// behind is how many records have been sent and not come out.
func (l *load) behind() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total - l.arrived, l.err
}

// history is what topics have of the key that went wrong, for the log: its input, what its store's changelog says, what came out.
func (l *load) history(brokers []string, topics ...string) (lines []string) {
	l.mu.Lock()
	wrong := l.wrong
	l.mu.Unlock()
	if wrong == nil {
		return nil
	}
	from := map[string]map[int32]kgo.Offset{}
	for _, topic := range topics {
		from[topic] = map[int32]kgo.Offset{wrong.Partition: kgo.NewOffset().AtStart()}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumePartitions(from), kgo.KeepControlRecords())
	if err != nil {
		return []string{err.Error()}
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			near := r.Topic == wrong.Topic && r.Offset > wrong.Offset-40 && r.Offset < wrong.Offset+10 && r.Attrs.IsControl()
			if strings.Contains(string(r.Key), string(wrong.Key)) || near {
				lines = append(lines, fmt.Sprintf("%s %s/%d %d: %x producer %d epoch %d control %v key %x", r.Timestamp.Format("15:04:05.000"), r.Topic, r.Partition, r.Offset, r.Value, r.ProducerID, r.ProducerEpoch, r.Attrs.IsControl(), r.Key[:min(len(r.Key), 12)]))
			}
		})
	}
	slices.Sort(lines)
	return lines
}

// judge says whether every record was counted once.
func (l *load) judge() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.sent {
		if l.counted[key] != n {
			return errors.Join(l.err, fmt.Errorf("key %d: counted up to %d, want %d", key, l.counted[key], n))
		}
	}
	return l.err
}
