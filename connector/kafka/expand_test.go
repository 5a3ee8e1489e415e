package kafka

import (
	"bytes"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// letters are n bytes that can be made smaller, and not to nothing.
func letters(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(4))
	}
	return b
}

// TestExpandedBatchesAreHeldOneByOne: what is released is used again, and what is not stays as it is.
func TestExpandedBatchesAreHeldOneByOne(t *testing.T) {
	for how := wire.Gzip; how <= wire.Zstd; how++ {
		d := new(dialer)
		expand := func(seed uint64) ([]byte, *buffer) {
			small, err := d.codecs.shrink(how, letters(seed, 50_000))
			if err != nil {
				t.Fatal(err)
			}
			plain, in, err := d.codecs.expand(&d.buffers, how, small, expandMost)
			if err != nil || !bytes.Equal(plain, letters(seed, 50_000)) {
				t.Fatalf("codec %d: %d bytes, %v", how, len(plain), err)
			}
			return plain, in
		}
		kept, held := expand(1)
		for seed := range uint64(20) {
			_, in := expand(seed + 2)
			in.release()
		}
		if !bytes.Equal(kept, letters(1, 50_000)) {
			t.Errorf("codec %d: a batch that was held changed", how)
		}
		held.release()
	}
}

// TestRoomForWhatBatchesBecome: the room follows what batches came to, so that decompressing them takes no memory of its own.
func TestRoomForWhatBatchesBecome(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	for _, how := range []wire.Compression{wire.Gzip, wire.Snappy, wire.LZ4, wire.Zstd} {
		d := new(dialer)
		small, err := d.codecs.shrink(how, bytes.Repeat([]byte("a hundred times the same "), 40_000))
		if err != nil {
			t.Fatal(err)
		}
		expand := func() {
			plain, in, err := d.codecs.expand(&d.buffers, how, small, expandMost)
			if err != nil || len(plain) != 1_000_000 {
				t.Fatalf("codec %d: %d bytes, %v", how, len(plain), err)
			}
			in.release()
		}
		expand()
		if room := d.codecs.rates[how].room(len(small)); room < 1_000_000 || room > 1_500_000 {
			t.Errorf("codec %d: room for %d bytes behind a batch that became 1,000,000", how, room)
		}
		if raceEnabled {
			continue
		}
		if n := testing.AllocsPerRun(20, expand); n > 6 {
			t.Errorf("codec %d: %v allocations for a batch", how, n)
		}
	}
}

// TestBatchesThatBecomeTooLarge: a batch has no more memory than the limit, whatever it claims.
func TestBatchesThatBecomeTooLarge(t *testing.T) {
	for how := wire.Gzip; how <= wire.Zstd; how++ {
		d := new(dialer)
		small, err := d.codecs.shrink(how, make([]byte, 1<<20+1))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.codecs.expand(&d.buffers, how, small, 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
			t.Errorf("codec %d: %v", how, err)
		}
		if _, in, err := d.codecs.expand(&d.buffers, how, small, 1<<20+1); err != nil {
			t.Errorf("codec %d, a limit that it just meets: %v", how, err)
		} else {
			in.release()
		}
	}
}

func TestRatesForgetSlowly(t *testing.T) {
	var r rate
	r.learn(100, 1000)
	if room := r.room(100); room < 1000 {
		t.Errorf("room for %d bytes behind a batch that became 1,000", room)
	}
	before := r.sixteenths.Load()
	for range 100 {
		r.learn(100, 200)
		now := r.sixteenths.Load()
		if now > before || before-now > before/8+1 {
			t.Fatalf("from %d to %d sixteenths", before, now)
		}
		before = now
	}
	if before != 32 {
		t.Errorf("%d sixteenths after a hundred batches that became twice as large", before)
	}
}
