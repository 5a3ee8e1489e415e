package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

var prefix = keys.Rows("0_1", "sums")

func openDB(t testing.TB) state.DB {
	t.Helper()
	db, err := state.InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func apply(t testing.TB, db state.DB, deltas ...*Delta) {
	t.Helper()
	var b state.Batch
	for _, d := range deltas {
		d.AddTo(&b)
	}
	if err := db.Apply(&b, false); err != nil {
		t.Fatal(err)
	}
}

func freeze[V any](t testing.TB, s *Store[V], n uint64) *Delta {
	t.Helper()
	d, err := s.Freeze(n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ints is a serde of []int64, a type that is not plain: whoever shares a value sees the other's changes.
func ints() serde.Serde[[]int64] {
	return serde.New("ints",
		func(dst []byte, v []int64) ([]byte, error) {
			if slices.Contains(v, -1) {
				return dst, errors.New("minus one")
			}
			for _, n := range v {
				dst = keys.AppendTime(dst, n)
			}
			return dst, nil
		},
		func(b []byte) (v []int64, err error) {
			v = make([]int64, len(b)/8)
			for i := range v {
				v[i], b, err = keys.CutTime(b)
			}
			return v, err
		})
}

// TestAgainstMap does at random all that a task does, with a cache that is too small, and compares with plain maps: what
// is seen, what ranges see while the store changes, the deltas, what the database has, and what is left after a crash.
func TestAgainstMap(t *testing.T) {
	for seed := range uint64(8) {
		for _, plain := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/plain=%v", seed, plain), func(t *testing.T) { againstMap(t, seed, plain) })
		}
	}
}

type model struct {
	t         *testing.T
	rnd       *rand.Rand
	db        state.DB
	s         *Store[[]int64]
	rows      map[string]string            // as the task sees them
	committed map[string]string            // as the database has them
	prior     map[string]string            // at the last Freeze
	waiting   []*Delta                     // frozen
	snapshots map[uint64]map[string]string // rows at each Freeze
	n         uint64
}

func againstMap(t *testing.T, seed uint64, clone bool) {
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), db: openDB(t), rows: map[string]string{}, committed: map[string]string{},
		prior: map[string]string{}, snapshots: map[uint64]map[string]string{}}
	cfg := Config[[]int64]{Name: "sums", DB: m.db, Prefix: prefix, Serde: ints(), KeepOld: seed%2 == 0, LimitBytes: 12000}
	if clone {
		cfg.Clone = slices.Clone[[]int64]
	}
	m.s = New(cfg)
	for range 8000 {
		m.step()
	}
	if m.s.Stats().Evicted == 0 {
		t.Error("nothing was ever evicted")
	}
	m.checkAll()
}

func (m *model) key() string {
	k := m.rnd.IntN(300)
	return strings.Repeat("long ", k%5) + fmt.Sprint(k) + strings.Repeat("x", k%3*200)
}

func show(v []int64, ok bool) string {
	if !ok {
		return "none"
	}
	return fmt.Sprint(v)
}

func (m *model) want(k string) string {
	if v, ok := m.rows[k]; ok {
		return v
	}
	return "none"
}

func (m *model) step() {
	k := m.key()
	switch p := m.rnd.IntN(1000); {
	case p < 350: // an accumulator is changed in place
		e := m.s.Entry([]byte(k))
		m.same(k, show(e.Get()))
		v := append(e.Value, 1)
		v[m.rnd.IntN(len(v))] = m.rnd.Int64N(1000)
		m.s.Set(e, v)
		m.rows[k] = fmt.Sprint(v)
		if m.rnd.IntN(3) == 0 { // and emitted: what the receiver does with it must not matter
			out := m.s.Give(e)
			for i := range out {
				out[i] = -2
			}
		}
	case p < 450:
		v := []int64{m.rnd.Int64N(1000)}
		m.s.Put([]byte(k), v)
		m.rows[k] = fmt.Sprint(v)
	case p < 550:
		m.s.Delete([]byte(k))
		delete(m.rows, k)
	case p < 600: // a user function fails half way
		e := m.s.Entry([]byte(k))
		saved := m.s.Save(e)
		m.s.Set(e, append(e.Value, 7))
		e.Value[0] = -1
		m.s.Undo(saved)
		m.same(k, show(m.s.Get([]byte(k))))
	case p < 800:
		m.same(k, show(m.s.Get([]byte(k))))
	case p < 940:
		v, ok := m.s.Lookup([]byte(k))
		m.same(k, show(v, ok))
		for i := range v {
			v[i] = -3
		}
	case p < 960:
		m.checkRange()
	case p < 970:
		m.s.SetLimit(6000 + 12000*m.rnd.IntN(2))
		m.s.Trim()
	case p < 975:
		m.s.pack()
	case p < 985:
		m.freeze()
	case p < 998:
		m.apply()
	default: // crash: the rows are as the database has them
		m.s.Drop()
		m.waiting = nil
		m.rows, m.prior = maps.Clone(m.committed), maps.Clone(m.committed)
	}
}

func (m *model) same(key, got string) {
	m.t.Helper()
	if got != m.want(key) {
		m.t.Fatalf("key %.20q is %s, want %s", key, got, m.want(key))
	}
}

func (m *model) checkRange() {
	from, to := m.key(), m.key()
	var want []string
	for _, k := range slices.Sorted(maps.Keys(m.rows)) {
		if k >= from && k < to {
			want = append(want, k+"="+m.rows[k])
		}
	}
	var got []string
	for k, v := range m.s.Range([]byte(from), []byte(to)) {
		got = append(got, string(k)+"="+fmt.Sprint(v))
		for range m.rnd.IntN(3) { // the store changes under the range
			k := m.key()
			if m.rnd.IntN(3) == 0 {
				m.s.Delete([]byte(k))
				delete(m.rows, k)
				continue
			}
			e := m.s.Entry([]byte(k))
			v := append(e.Value, 5)
			v[0] = 6
			m.s.Set(e, v)
			m.rows[k] = fmt.Sprint(v)
		}
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("range [%.20q, %.20q):\n%.300q, want\n%.300q", from, to, got, want)
	}
}

func (m *model) freeze() {
	m.checkChanges()
	m.checkUsage()
	m.n++
	d := freeze(m.t, m.s, m.n)
	m.checkUsage()
	got := maps.Clone(m.prior)
	for k, v := range d.All() {
		if v == nil {
			delete(got, string(k))
			continue
		}
		n, err := ints().Decode(v)
		if err != nil {
			m.t.Fatal(err)
		}
		got[string(k)] = fmt.Sprint(n)
	}
	if !maps.Equal(got, m.rows) {
		m.t.Fatalf("delta %d does not lead from the rows before to the rows now", m.n)
	}
	m.prior = maps.Clone(m.rows)
	m.snapshots[m.n] = m.prior
	m.waiting = append(m.waiting, d)
}

// checkChanges looks at what a table would emit at this checkpoint.
func (m *model) checkChanges() {
	got := maps.Clone(m.prior)
	for c := range m.s.Changes() {
		k := string(c.Key)
		if m.s.cfg.KeepOld {
			old, had := m.prior[k]
			if had != c.Had || had && fmt.Sprint(c.Old) != old {
				m.t.Fatalf("change of %.20q: old value %s, want %s", k, show(c.Old, c.Had), old)
			}
		}
		delete(got, k)
		if c.Has {
			got[k] = fmt.Sprint(c.New)
		}
	}
	if !maps.Equal(got, m.rows) {
		m.t.Fatal("the changes do not lead from the rows before to the rows now")
	}
}

// checkUsage counts what the store keeps account of.
func (m *model) checkUsage() {
	var want Usage
	for id := range m.s.entries.n {
		e := m.s.entries.at(id)
		if e.flags&live == 0 {
			continue
		}
		n := m.s.entries.size + e.keyBytes() + int(e.size)
		want.Resident += n
		switch {
		case e.dirty != 0:
			want.Dirty += n
		case e.frozen > m.s.done:
			want.Waiting += n
		}
	}
	for _, d := range m.waiting {
		want.Frozen += d.bytes
	}
	got := m.s.Usage()
	if len(m.s.frozen) > len(m.waiting) {
		got.Frozen -= m.s.frozen[len(m.s.frozen)-1].bytes // just frozen
	}
	if got != want {
		m.t.Fatalf("%+v, counted %+v", got, want)
	}
}

func (m *model) apply() {
	if len(m.waiting) == 0 {
		return
	}
	d := m.waiting[0]
	m.waiting = m.waiting[1:]
	apply(m.t, m.db, d)
	m.s.Applied(d.N)
	m.checkUsage()
	m.committed = m.snapshots[d.N]
}

func (m *model) checkAll() {
	got := map[string]string{}
	for k, v := range m.s.Range(nil, nil) {
		got[string(k)] = fmt.Sprint(v)
	}
	if !maps.Equal(got, m.rows) {
		m.t.Fatal("the whole range is not what the rows are")
	}
	m.freeze()
	for len(m.waiting) > 0 {
		m.apply()
	}
	if u := m.s.Usage(); u.Dirty != 0 || u.Waiting != 0 || u.Frozen != 0 {
		m.t.Errorf("after everything was applied: %+v", u)
	}
	m.s.Drop()
	for k := range m.rows {
		m.same(k, show(m.s.Get([]byte(k))))
	}
}

func TestLimitHoldsCleanEntries(t *testing.T) {
	db := openDB(t)
	const limit = 1 << 20
	s := New(Config[string]{Name: "s", DB: db, Prefix: prefix, Serde: serde.String, Plain: true, LimitBytes: limit})
	value := strings.Repeat("v", 100)
	for i := range 50000 {
		s.Put(fmt.Appendf(nil, "key %d", i), value)
		if i%1000 == 999 {
			d := freeze(t, s, uint64(i))
			apply(t, db, d)
			s.Applied(uint64(i))
		}
	}
	if u := s.Usage(); u.Resident > limit*11/10 {
		t.Errorf("%d bytes resident, the limit is %d", u.Resident, limit)
	}
	n := 0
	for id := range s.entries.n {
		if s.entries.at(id).flags&live != 0 {
			n++
		}
	}
	want := n * (s.entries.size + 100) // all keys are short
	if u := s.Usage(); u.Resident != want {
		t.Errorf("%d bytes accounted, %d entries are %d bytes", u.Resident, n, want)
	}
}

func TestUncommittedIsNeverForgotten(t *testing.T) {
	db := openDB(t)
	s := New(Config[int64]{Name: "s", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: 1000})
	for i := range 1000 {
		s.Put(fmt.Append(nil, i), int64(i))
	}
	freeze(t, s, 1)
	for i := range 1000 {
		s.Put(fmt.Append(nil, "other ", i), 1) // each looks for something to forget
	}
	for i := range 1000 {
		if v, ok := s.Get(fmt.Append(nil, i)); !ok || v != int64(i) {
			t.Fatalf("%d is %d, %v", i, v, ok)
		}
	}
	if s.Stats().Reads != 0 {
		t.Errorf("%d reads of the database", s.Stats().Reads)
	}
	if u := s.Usage(); u.Frozen < 1000 {
		t.Errorf("%+v: the delta is not counted", u)
	}
}

func TestFreezeNamesStoreAndKey(t *testing.T) {
	for _, c := range []struct {
		name, want string
		value      []int64
	}{{"encode", `store "sums": encoding the value of key "bad": minus one`, []int64{-1}},
		{"size", `store "sums": the value of key "bad" has 800 bytes, the limit is 100`, make([]int64, 100)}} {
		t.Run(c.name, func(t *testing.T) {
			s := New(Config[[]int64]{Name: "sums", DB: openDB(t), Prefix: prefix, Serde: ints(), MaxValueBytes: 100})
			s.Put([]byte("good"), []int64{1})
			s.Put([]byte("bad"), c.value)
			if _, err := s.Freeze(1); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

type brokenDB struct{ state.DB }

var errDisk = errors.New("disk on fire")

func (brokenDB) Get([]byte, func([]byte) error) (bool, error)         { return false, errDisk }
func (brokenDB) Scan([]byte, []byte, func([]byte, []byte) bool) error { return errDisk }

func TestFault(t *testing.T) {
	s := New(Config[int64]{Name: "sums", DB: brokenDB{}, Prefix: prefix, Serde: serde.Int64, Plain: true})
	for name, do := range map[string]func(){
		"get":   func() { s.Get([]byte("k")) },
		"range": func() { s.Range(nil, nil)(func([]byte, int64) bool { return true }) },
	} {
		func() {
			defer func() {
				f, ok := recover().(*Fault)
				if !ok || !errors.Is(f, errDisk) || !strings.Contains(f.Error(), `store "sums"`) {
					t.Errorf("%s: panic %v", name, f)
				}
			}()
			do()
		}()
	}
	s.cfg.DB = openDB(t)
	if _, ok := s.Get([]byte("k")); ok {
		t.Error("a failed read left a value behind")
	}
	if len(s.scans) != 0 {
		t.Error("a failed range is still open")
	}
}

func TestRangeAcrossApplied(t *testing.T) {
	s := New(Config[int64]{Name: "s", DB: openDB(t), Prefix: prefix, Serde: serde.Int64, Plain: true})
	s.Put([]byte("a"), 1)
	s.Put([]byte("b"), 1)
	freeze(t, s, 1)
	defer func() {
		if recover() == nil {
			t.Error("the range went on over changed ground")
		}
	}()
	for range s.Range(nil, nil) {
		s.Applied(1)
	}
}

func TestPrefix(t *testing.T) {
	db := openDB(t)
	s := New(Config[int64]{Name: "s", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true})
	for i, k := range []string{"a", "ab", "abc", "b", "\xff", "\xff\xff1"} {
		s.Put([]byte(k), int64(i))
	}
	apply(t, db, freeze(t, s, 1))
	s.Applied(1)
	s.Delete([]byte("abc"))
	s.Put([]byte("ab\xff"), 9)
	for p, want := range map[string][]int64{"a": {0, 1, 9}, "ab": {1, 9}, "\xff": {4, 5}, "": {0, 1, 9, 3, 4, 5}, "c": nil} {
		var got []int64
		for _, v := range s.Prefix([]byte(p)) {
			got = append(got, v)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q: %v, want %v", p, got, want)
		}
	}
}

// TestDeleteBehindRange: rows that a range has passed, as when a window closes, are deleted without reading them again.
func TestDeleteBehindRange(t *testing.T) {
	db := openDB(t)
	s := New(Config[int64]{Name: "s", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true})
	for i := range 100 {
		s.Put(fmt.Appendf(nil, "%03d", i), int64(i))
	}
	apply(t, db, freeze(t, s, 1))
	s.Drop()
	n := 0
	for k := range s.Range(nil, nil) {
		s.Delete(k)
		n++
	}
	if n != 100 || s.Stats().Reads != 0 {
		t.Errorf("%d rows, %d reads", n, s.Stats().Reads)
	}
	if d := freeze(t, s, 2); d.Len() != 100 {
		t.Errorf("%d deletions", d.Len())
	}
	for k := range s.Range(nil, nil) {
		t.Errorf("%q is still there", k)
	}
}

func TestCameAndWent(t *testing.T) {
	s := New(Config[int64]{Name: "s", DB: openDB(t), Prefix: prefix, Serde: serde.Int64, Plain: true})
	s.Set(s.Entry([]byte("k")), 1)
	s.Remove(s.Entry([]byte("k")))
	for c := range s.Changes() {
		if c.Had || c.Has {
			t.Errorf("change %+v", c)
		}
	}
	if d := freeze(t, s, 1); d.Len() != 0 {
		t.Errorf("%d rows for a key that was never there", d.Len())
	}
	s.Put([]byte("blind"), 1) // the database may have it
	s.Delete([]byte("blind"))
	if d := freeze(t, s, 2); d.Len() != 1 {
		t.Errorf("%d rows, want the deletion", d.Len())
	}
}

func TestHotKeysAllocateNothing(t *testing.T) {
	s := New(Config[int64]{Name: "s", DB: openDB(t), Prefix: prefix, Serde: serde.Int64, Plain: true, KeepOld: true})
	short, long := []byte("key"), bytes.Repeat([]byte("key"), 30)
	count := func() {
		for _, k := range [][]byte{short, long} {
			e := s.Entry(k)
			s.Set(e, e.Value+1)
			s.Give(e)
		}
	}
	count()
	if n := testing.AllocsPerRun(100, count); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPlainType(t *testing.T) {
	type plain struct {
		A int
		B [3]string
		T time.Time
	}
	type shared struct {
		plain
		P *int
	}
	for _, c := range []struct {
		v    any
		want bool
	}{{1, true}, {"s", true}, {plain{}, true}, {shared{}, false}, {[]int{}, false}, {map[int]int{}, false}, {[2]any{}, false}, {struct{}{}, true}} {
		if got := PlainType(reflect.TypeOf(c.v)); got != c.want {
			t.Errorf("PlainType(%T) = %v", c.v, got)
		}
	}
}
