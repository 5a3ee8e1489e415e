// Package states measures state as an operator uses it: an overlay of decoded values over Pebble, with a checkpoint every
// 100,000 changes. peers/rocksdb does the same work on RocksDB as Kafka Streams uses it: puts straight into the memtable, no log.
package states

import (
	"encoding/binary"
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/state/pebblestore"
)

var keyCount = flag.Int("keys", 100_000, "distinct keys; weirbench asks for 1 M, as it does of RocksDB")

// checkpointEvery is how many changes lie between two checkpoints.
const checkpointEvery = 100_000

// Hot keeps every value decoded in memory; cold has room for a few in a hundred, so that reads go to Pebble.
func BenchmarkState(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"hot", max(1<<30, *keyCount*400)}, {"cold", 16 << 20}} {
		for _, op := range []struct {
			name string
			do   func(*store, uint64)
		}{{"put", (*store).put}, {"get", (*store).get}, {"update", (*store).update}, {"range100", (*store).scan}} {
			b.Run(fmt.Sprintf("%s-%s/weir", op.name, size.name), func(b *testing.B) {
				s := fill(b, size.bytes)
				began := cpu(b)
				n := uint64(0)
				for b.Loop() {
					op.do(s, s.key(n))
					n++
				}
				b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(n), "cpu-ns/rec")
			})
		}
	}
}

// A store is one store of one task, with its checkpoints.
type store struct {
	b       *testing.B
	db      state.DB
	rows    *overlay.Store[[]byte]
	keys    uint64
	changes int
	n       uint64
	buffer  []byte
	batch   state.Batch
}

func fill(b *testing.B, bytes int) *store {
	b.Helper()
	db, err := pebblestore.New().Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	s := &store{b: b, db: db, keys: uint64(*keyCount)}
	s.rows = overlay.New(overlay.Config[[]byte]{Name: "bench", DB: db, Prefix: keys.Store("0", "bench"), Serde: serde.Bytes, LimitBytes: bytes})
	for n := range s.keys {
		s.put(n)
	}
	s.checkpoint()
	return s
}

// key spreads n over the keys in an order without pattern.
func (s *store) key(n uint64) uint64 { return (n * 0x9e3779b97f4a7c15 >> 20) % s.keys }

func (s *store) encoded(key uint64) []byte {
	s.buffer = binary.BigEndian.AppendUint64(s.buffer[:0], key)
	return s.buffer
}

func (s *store) put(key uint64) {
	value := make([]byte, 100)
	binary.BigEndian.PutUint64(value, key)
	s.rows.Put(s.encoded(key), value)
	s.changed()
}

func (s *store) get(key uint64) {
	if v, ok := s.rows.Get(s.encoded(key)); !ok || len(v) != 100 {
		s.b.Fatalf("key %d has %d bytes", key, len(v))
	}
}

func (s *store) update(key uint64) {
	e := s.rows.Entry(s.encoded(key))
	v := append([]byte(nil), e.Value...)
	v[99]++
	s.rows.Set(e, v)
	s.changed()
}

func (s *store) scan(key uint64) {
	from := min(key, s.keys-100)
	n := 0
	for range s.rows.Range(s.encoded(from), binary.BigEndian.AppendUint64(nil, from+100)) {
		n++
	}
	if n != 100 {
		s.b.Fatalf("a range of 100 keys has %d", n)
	}
}

func (s *store) changed() {
	if s.changes++; s.changes == checkpointEvery {
		s.checkpoint()
	}
}

func (s *store) checkpoint() {
	s.changes = 0
	s.n++
	delta, err := s.rows.Freeze(s.n)
	if err != nil {
		s.b.Fatal(err)
	}
	s.batch.Reset()
	delta.AddTo(&s.batch)
	if err := s.db.Apply(&s.batch, false); err != nil {
		s.b.Fatal(err)
	}
	s.rows.Applied(s.n)
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
