package overlay

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
)

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A burst of keys takes memory; when it is over, and the limit is what it was, the store gives it back.
func TestTrimGivesMemoryBack(t *testing.T) {
	const limit, burst = 1 << 20, 64 << 20
	db := openDB(t)
	s := New(Config[string]{Name: "s", DB: db, Prefix: prefix, Serde: serde.String, Plain: true, LimitBytes: burst})
	value := strings.Repeat("v", 8)
	for i := range 200_000 {
		s.Put(fmt.Appendf(nil, "a key that is not short %d", i), value)
	}
	d := freeze(t, s, 1)
	high := s.Reserved()
	s.SetLimit(limit)
	s.Trim()
	if n := s.Usage().Dirty + s.Usage().Resident; n < 200_000*40 {
		t.Errorf("%d bytes are left of what is not committed", n)
	}
	apply(t, db, d)
	s.Applied(1)
	d = nil
	full := heap()
	for range 100 { // a Trim does so much and no more
		s.Trim()
	}
	if u := s.Usage(); u.Resident > limit || s.Reserved() > 3*limit {
		t.Errorf("%d bytes in use, %d reserved, which were %d; the limit is %d", u.Resident, s.Reserved(), high, limit)
	}
	if high < 16*limit {
		t.Errorf("the burst took %d bytes: it is none", high)
	}
	if v, ok := s.Get([]byte("a key that is not short 7")); !ok || v != value {
		t.Errorf("a key is %q, %v", v, ok)
	}
	if back := full - heap(); back < high-4*limit {
		t.Errorf("the heap has shrunk by %d bytes, and %d were reserved", back, high)
	}
	runtime.KeepAlive(s)
}

// The stores of a task together hold what the task may hold: one that needs little lets others have the rest, and one that is larger than its share
// gives it to one that grows.
func TestStoresShareABudget(t *testing.T) {
	const limit = 1 << 20
	db := openDB(t)
	var stores []*Store[int64]
	for i := range 4 {
		stores = append(stores, New(Config[int64]{Name: fmt.Sprint(i), DB: db, Prefix: append(append([]byte(nil), prefix...), byte(i)), Serde: serde.Int64, Plain: true, LimitBytes: limit}))
	}
	n := uint64(0)
	grow := func(i, keys int) {
		for k := range keys {
			stores[i].Put(fmt.Append(nil, i, " ", k), int64(k))
			if k%500 == 499 {
				n++
				for _, s := range stores {
					d := freeze(t, s, n)
					apply(t, db, d)
					s.Applied(n)
				}
				Share(limit, stores)
			}
		}
		total := 0
		for _, s := range stores {
			total += s.Usage().held()
		}
		if total > limit*11/10 {
			t.Errorf("%d bytes together, of %d", total, limit)
		}
	}
	grow(0, 50_000)
	if alone := stores[0].Usage().held(); alone < limit*8/10 {
		t.Errorf("alone it has %d bytes of %d", alone, limit)
	}
	grow(1, 50_000)
	for i := range 2 {
		if half := stores[i].Usage().held(); half < limit*4/10 || half > limit*6/10 {
			t.Errorf("of two, store %d has %d bytes of %d", i, half, limit)
		}
	}
	grow(2, 50_000)
	grow(3, 100)
	if few := stores[3].Usage().held(); few == 0 {
		t.Error("a small store has nothing")
	}
}

// What cannot be forgotten is not looked for again and again.
func TestTrimGivesUp(t *testing.T) {
	s := New(Config[int64]{Name: "s", DB: openDB(t), Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: 1000})
	for i := range 10_000 {
		s.Put(fmt.Append(nil, i), 1)
	}
	for range 3 {
		s.Trim()
	}
	hand := s.hand
	s.Trim()
	if s.hand != hand {
		t.Error("the clock's hand moves over entries that are all pinned")
	}
}
