package overlay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
)

// A grouped store reads a group as a sorted list of what was put: whatever of it is committed, frozen, cached or gone.
func TestGroupsAgainstMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		db := openDB(t)
		s := New(Config[int64]{Name: "g", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: 6000}).Grouped(2)
		want := map[string]int64{}
		var frozen []*Delta
		n := uint64(0)
		for step := range 3000 {
			key := fmt.Sprintf("g%d%s", r.IntN(3), strings.Repeat("x", r.IntN(12))+fmt.Sprint(r.IntN(60)))
			switch k := r.IntN(100); {
			case k < 55:
				e := s.Entry([]byte(key))
				s.Set(e, int64(step))
				want[key] = int64(step)
			case k < 75:
				s.Delete([]byte(key))
				delete(want, key)
			case k < 79:
				n++
				frozen = append(frozen, freeze(t, s, n))
			case k < 82 && len(frozen) > 0:
				apply(t, db, frozen[0])
				s.Applied(frozen[0].N)
				frozen = frozen[1:]
			case k < 86:
				checkGroup(t, s, want, key[:2], r.IntN(2) == 0)
			case k < 87:
				s.pack()
			case k < 88:
				for range s.Range([]byte(key), nil) {
					break
				}
			}
		}
		for g := range 3 {
			checkGroup(t, s, want, fmt.Sprintf("g%d", g), true)
		}
	}
}

// checkGroup reads a group; with empty it removes every key as it goes, as a window that closes does.
func checkGroup(t *testing.T, s *Store[int64], want map[string]int64, name string, empty bool) {
	t.Helper()
	var keys []string
	for k := range want {
		if strings.HasPrefix(k, name) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var got []string
	entries := s.Entries([]byte(name))
	if len(keys)%2 == 0 {
		entries = func(yield func([]byte, *Entry[int64]) bool) {
			for k := range s.Keys([]byte(name)) {
				if !yield(k, s.Entry(k)) {
					return
				}
			}
		}
	}
	for k, e := range entries {
		key := string(k)
		got = append(got, key)
		if e.Value != want[key] {
			t.Fatalf("%s: got %d, want %d", key, e.Value, want[key])
		}
		if empty {
			s.Remove(e)
			delete(want, key)
		}
	}
	if !slices.Equal(got, keys) {
		t.Fatalf("group %s: got %q, want %q", name, got, keys)
	}
}

// A group that is read again and again, and filled from another one meanwhile, is in order each time.
func TestGroupsMoveOn(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		db := openDB(t)
		s := New(Config[int64]{Name: "g", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: 40_000}).Grouped(2)
		want := map[string]int64{}
		n := uint64(0)
		for group := range 8 {
			here, next := fmt.Sprintf("g%d", group), fmt.Sprintf("g%d", group+1)
			for round := range 6 {
				for range r.IntN(400) {
					key := here + fmt.Sprint(r.IntN(1000))
					s.Put([]byte(key), int64(round))
					want[key] = int64(round)
				}
				if n++; r.IntN(2) == 0 {
					apply(t, db, freeze(t, s, n))
					s.Applied(n)
				}
				checkGroup(t, s, want, here, false)
			}
			for k, e := range s.Entries([]byte(here)) {
				key, v := string(k), e.Value
				s.Remove(e)
				delete(want, key)
				if r.IntN(3) > 0 {
					key = next + key[2:]
					s.Put([]byte(key), v)
					want[key] = v
				}
			}
		}
		checkGroup(t, s, want, "g7", false)
		checkGroup(t, s, want, "g8", true)
	}
}

// Reading a group leaves nothing of it behind, and a store that nobody ranges over keeps no order.
func TestGroupsForget(t *testing.T) {
	s := New(Config[int64]{Name: "g", DB: openDB(t), Prefix: prefix, Serde: serde.Int64, Plain: true}).Grouped(2)
	for i := range 1000 {
		s.Set(s.Entry(fmt.Appendf(nil, "g%d%d", i%2, i)), 1)
	}
	for k := range s.Keys([]byte("g1")) {
		s.Delete(k)
	}
	before := s.Usage().Resident
	apply(t, s.cfg.DB, freeze(t, s, 1))
	s.Applied(1)
	if len(s.groups.lists) != 1 || s.order != nil {
		t.Errorf("%d lists, order %v", len(s.groups.lists), s.order)
	}
	if after := s.Usage().Resident; after >= before*3/4 {
		t.Errorf("rows that came and went stay: %d bytes before, %d after", before, after)
	}
}
