package broker

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ValueBytes is the size of every value.
const ValueBytes = 100

// A Load describes an input topic. Its records depend on nothing but their number, so results can be known beforehand.
type Load struct {
	Topic      string
	Partitions int
	Records    int64
	Keys       int64 // distinct keys
	Groups     int64 // distinct first seven bytes of values
	Even       bool  // the first Keys records have each key once, and so on; Keys must not be a multiple of the stride
}

// stride is a prime: its multiples visit every key once before any comes again.
const stride = 2_654_435_761

// Key is the key of record n: all keys come up about evenly, or evenly, in an order without pattern.
func (l Load) Key(n int64) string {
	if l.Even {
		return fmt.Sprintf("key-%06d", uint64(n)%uint64(l.Keys)*stride%uint64(l.Keys))
	}
	return fmt.Sprintf("key-%06d", mix(n)%uint64(l.Keys))
}

// Group is the first seven bytes of record n's value.
func (l Load) Group(n int64) string { return fmt.Sprintf("g-%05d", mix(n^0x5bd1e995)%uint64(l.Groups)) }

// value fills dst with record n's value: its group, its number, and text that does not compress to nothing.
func (l Load) value(dst []byte, n int64) {
	copy(dst, l.Group(n))
	binary.BigEndian.PutUint64(dst[8:], uint64(n))
	for i, x := 16, mix(n); i < len(dst); i++ {
		dst[i] = 'a' + byte(x%26)
		if x /= 26; x == 0 {
			x = mix(n + int64(i))
		}
	}
}

// mix is the finaliser of splitmix64: a permutation of 64-bit numbers.
func mix(n int64) uint64 {
	x := uint64(n) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Load creates the topic and fills it. Values of a batch lie in one slab, so that loading is not the slow part.
func (b *Broker) Load(ctx context.Context, l Load) error {
	if err := b.CreateTopic(ctx, l.Topic, l.Partitions); err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	var flying sync.WaitGroup
	const slab = 10_000
	for from := int64(0); from < l.Records; from += slab {
		values := make([]byte, slab*ValueBytes)
		for n := from; n < min(from+slab, l.Records); n++ {
			value := values[(n-from)*ValueBytes : (n-from+1)*ValueBytes]
			l.value(value, n)
			flying.Add(1)
			b.client.Produce(ctx, &kgo.Record{Topic: l.Topic, Key: []byte(l.Key(n)), Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Store(&err)
				}
				flying.Done()
			})
		}
		if err := failed.Load(); err != nil {
			return fmt.Errorf("loading %s: %w", l.Topic, *err)
		}
	}
	flying.Wait()
	if err := failed.Load(); err != nil {
		return fmt.Errorf("loading %s: %w", l.Topic, *err)
	}
	return nil
}
