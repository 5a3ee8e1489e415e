package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// patience is how long results may stay away before a system is called wrong.
const patience = 30 * time.Second

// quiet is how long nothing may come after the last expected result: a duplicate shows in it.
const quiet = 500 * time.Millisecond

// A Decoder turns a system's bytes into a count.
type Decoder func(b []byte) (int64, error)

// BigEndian is how Java writes a long.
func BigEndian(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a count of %d bytes", len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// Ordered is how weir writes an integer: as BigEndian with the sign turned over, so that bytes order as numbers do.
func Ordered(b []byte) (int64, error) {
	n, err := BigEndian(b)
	return n ^ -1<<63, err
}

// Decimal is how goka writes an integer.
func Decimal(b []byte) (int64, error) { return strconv.ParseInt(string(b), 10, 64) }

// VerifyCopies checks that out holds each record of the load once. With duplicates allowed more may be there, and how many is returned.
func (b *Broker) VerifyCopies(ctx context.Context, l Load, out string, duplicates bool) (extra int64, err error) {
	seen := make([]uint8, l.Records)
	missing := l.Records
	buffer := make([]byte, ValueBytes)
	err = b.consume(ctx, out, func(r *kgo.Record) (bool, error) {
		if len(r.Value) != ValueBytes {
			return false, fmt.Errorf("a value of %d bytes", len(r.Value))
		}
		n := int64(binary.BigEndian.Uint64(r.Value[8:]))
		if n < 0 || n >= l.Records {
			return false, fmt.Errorf("record %d was never sent", n)
		}
		if l.value(buffer, n); !bytes.Equal(buffer, r.Value) || string(r.Key) != l.Key(n) {
			return false, fmt.Errorf("record %d came out changed: %q", n, r.Value)
		}
		if seen[n]++; seen[n] == 1 {
			missing--
		} else {
			extra++
		}
		return missing == 0, nil
	})
	switch {
	case errors.Is(err, errStopped):
		err = fmt.Errorf("%d of %d records never came out", missing, l.Records)
	case err == nil && extra > 0 && !duplicates:
		err = fmt.Errorf("%d records came out twice", extra)
	}
	return extra, err
}

// VerifyCounts checks that the last count of each key in out is right; updates is how many outputs there were.
func (b *Broker) VerifyCounts(ctx context.Context, l Load, out string, key func(n int64) string, decode Decoder, duplicates bool) (updates int64, err error) {
	want := make(map[string]int64)
	for n := range l.Records {
		want[key(n)]++
	}
	right := 0
	last := make(map[string]int64, len(want))
	err = b.consume(ctx, out, func(r *kgo.Record) (bool, error) {
		count, err := decode(r.Value)
		if err != nil {
			return false, fmt.Errorf("key %s: %w", r.Key, err)
		}
		k := strings.Clone(string(r.Key))
		if !duplicates && count > want[k] {
			return false, fmt.Errorf("key %s has count %d, want %d", k, count, want[k])
		}
		updates++
		before := last[k]
		if before >= want[k] && count < want[k] {
			right--
		}
		if before < want[k] && count >= want[k] {
			right++
		}
		last[k] = count
		return right == len(want), nil
	})
	if errors.Is(err, errStopped) {
		err = fmt.Errorf("%d of %d keys have their final count", right, len(want))
	}
	return updates, err
}

// consume reads a topic from its start until each says that everything is there, and then a little longer.
func (b *Broker) consume(ctx context.Context, topic string, each func(*kgo.Record) (done bool, err error)) error {
	reader, err := b.reader(topic)
	if err != nil {
		return err
	}
	defer reader.Close()
	done := false
	last := time.Now()
	for {
		wait := patience
		if done {
			wait = quiet
		}
		polling, cancel := context.WithDeadline(ctx, last.Add(wait))
		fetched := reader.PollFetches(polling)
		cancel()
		if fetched.Empty() || fetched.NumRecords() == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if time.Since(last) >= wait {
				if done {
					return nil
				}
				return errStopped
			}
			continue
		}
		for r := range fetched.RecordsAll() {
			if done, err = each(r); err != nil {
				return err
			}
		}
		last = time.Now()
	}
}

// reader reads a topic from its start as read_committed.
func (b *Broker) reader(topic string, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(more, kgo.SeedBrokers(strings.Split(b.Addresses, ",")...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond))...)
}
