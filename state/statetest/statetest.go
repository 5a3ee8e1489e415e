// Package statetest checks that a [state.Backend] does what the contract says.
//
//	func TestMine(t *testing.T) { statetest.Run(t, mine.New()) }
//
// [Run] checks behaviour, [Reopen] what is there after a clean end, [Crashes] what is left on a disk after a crash between any two writes; it needs a disk
// that can be copied at such a moment, as an in-memory file system can.
package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirstream/weir/state"
)

// Run checks the behaviour of a backend that is not closed and opened again.
func Run(t *testing.T, b state.Backend) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, state.DB)
	}{
		{"random", random}, {"empty values", emptyValues}, {"order in a batch", orderInBatch}, {"batch memory", batchMemory},
		{"large values", largeValues}, {"errors of use", errorsOfUse}, {"scan stops", scanStops}, {"atomic", atomicBatches},
		{"ingest", ingest}, {"ingest over", ingestOver}, {"ingest cancelled", ingestCancelled}, {"ingest beside apply", ingestBesideApply},
	} {
		for name, settings := range settings() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				db := open(t, b, t.TempDir(), settings)
				defer closeDB(t, db)
				c.check(t, db)
			})
		}
	}
}

func open(t *testing.T, b state.Backend, dir string, s state.Settings) state.DB {
	t.Helper()
	db, err := state.Open(t.Context(), b, dir, s)
	if err != nil {
		t.Fatal("Open:", err)
	}
	return db
}

func closeDB(t *testing.T, db state.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Error("Close:", err)
	}
}

// Rows are the content of a database.
type rows map[string]string

func read(t *testing.T, db state.DB, from, to string) rows {
	t.Helper()
	got := rows{}
	last := ""
	err := db.Scan([]byte(from), []byte(to), func(k, v []byte) bool {
		if len(got) > 0 && string(k) <= last {
			t.Errorf("Scan: %q comes after %q", k, last)
		}
		last = string(k)
		got[last] = string(v)
		return true
	})
	if err != nil {
		t.Fatal("Scan:", err)
	}
	return got
}

func apply(t *testing.T, db state.DB, b *state.Batch, sync bool) {
	t.Helper()
	if err := db.Apply(b, sync); err != nil {
		t.Fatal("Apply:", err)
	}
}

func put(t *testing.T, db state.DB, kv ...string) {
	t.Helper()
	var b state.Batch
	for i := 0; i < len(kv); i += 2 {
		b.Put([]byte(kv[i]), []byte(kv[i+1]))
	}
	apply(t, db, &b, false)
}

func same(t *testing.T, got, want rows) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[k]; !ok || g != want[k] {
			t.Fatalf("%d rows, want %d; %.40q = %.40q (there: %v), want %.40q", len(got), len(want), k, g, ok, want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Fatalf("%d rows, want %d; %.40q should not be there", len(got), len(want), k)
		}
	}
}

const end = "\xff\xff"

// random compares with a map under batches of any kind.
func random(t *testing.T, db state.DB) {
	rnd := rand.New(rand.NewPCG(1, 2))
	model := rows{}
	key := func() string { return fmt.Sprintf("k%0*d", rnd.IntN(4), rnd.IntN(500)) }
	for i := range 200 {
		var b state.Batch
		if rnd.IntN(4) == 0 {
			from, to := key(), key()
			if from > to {
				from, to = to, from
			}
			if from < to {
				b.DeleteRange([]byte(from), []byte(to))
				maps.DeleteFunc(model, func(k, _ string) bool { return k >= from && k < to })
			}
		}
		for range rnd.IntN(60) {
			k := key()
			if rnd.IntN(3) == 0 {
				b.Delete([]byte(k))
				delete(model, k)
				continue
			}
			v := fmt.Sprint(i, rnd.Uint64())
			b.Put([]byte(k), []byte(v))
			model[k] = v
		}
		apply(t, db, &b, i%20 == 0)
		k := key()
		found, err := db.Get([]byte(k), func(v []byte) error {
			if string(v) != model[k] {
				t.Errorf("Get %q = %q, want %q", k, v, model[k])
			}
			return nil
		})
		if _, ok := model[k]; found != ok || err != nil {
			t.Fatalf("Get %q: %v, %v, want %v", k, found, err, ok)
		}
		if i%10 == 0 {
			same(t, read(t, db, "", end), model)
			from, to := key(), key()
			part := maps.Clone(model)
			maps.DeleteFunc(part, func(k, _ string) bool { return k < from || k >= to })
			if from < to {
				same(t, read(t, db, from, to), part)
			}
		}
	}
}

// emptyValues: an empty value is there, a deleted key is not.
func emptyValues(t *testing.T, db state.DB) {
	put(t, db, "a", "", "b", "x", "\x00", "zero")
	var b state.Batch
	b.Delete([]byte("b"))
	b.Delete([]byte("never there"))
	apply(t, db, &b, false)
	same(t, read(t, db, "", end), rows{"a": "", "\x00": "zero"})
	found, err := db.Get([]byte("a"), func(v []byte) error {
		if len(v) != 0 {
			t.Errorf("value %q", v)
		}
		return nil
	})
	if !found || err != nil {
		t.Errorf("Get of an empty value: %v, %v", found, err)
	}
}

// orderInBatch: ranges are deleted first, then ops follow one another.
func orderInBatch(t *testing.T, db state.DB) {
	put(t, db, "a", "old", "b", "old", "c", "old")
	var b state.Batch
	b.Put([]byte("a"), []byte("1"))
	b.Put([]byte("a"), []byte("2"))
	b.DeleteRange([]byte("a"), []byte("c"))
	b.Put([]byte("d"), []byte("1"))
	b.Delete([]byte("d"))
	b.Append(func(yield func(k, v []byte) bool) {
		_ = yield([]byte("e"), []byte("1")) && yield([]byte("c"), nil)
	}, 3)
	apply(t, db, &b, false)
	same(t, read(t, db, "", end), rows{"a": "2", "e": "1"})
}

// batchMemory: a batch is the caller's again when Apply returns.
func batchMemory(t *testing.T, db state.DB) {
	var b state.Batch
	want := rows{}
	row := make([]byte, 0, 64)
	for i := range 50 {
		b.Reset()
		row = fmt.Appendf(row[:0], "k%02dvalue%d", i, i)
		b.Append(func(yield func(k, v []byte) bool) { yield(row[:3:3], row[3:]) }, len(row))
		b.Put(fmt.Appendf(nil, "p%02d", i), row)
		apply(t, db, &b, false)
		want[string(row[:3])], want[fmt.Sprintf("p%02d", i)] = string(row[3:]), string(row)
	}
	same(t, read(t, db, "", end), want)
}

func largeValues(t *testing.T, db state.DB) {
	want := rows{}
	for i := range 8 {
		k, v := fmt.Sprint("k", i), string(bytes.Repeat([]byte{byte('a' + i)}, 1<<20))
		put(t, db, k, v)
		want[k] = v
	}
	same(t, read(t, db, "", end), want)
}

func errorsOfUse(t *testing.T, db state.DB) {
	put(t, db, "k", "v")
	mine := errors.New("mine")
	if _, err := db.Get([]byte("k"), func([]byte) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("Get returns %v for an error of use", err)
	}
	found, err := db.Get([]byte("none"), func([]byte) error { return mine })
	if found || err != nil {
		t.Errorf("Get of no key: %v, %v", found, err)
	}
}

func scanStops(t *testing.T, db state.DB) {
	put(t, db, "a", "1", "b", "2", "c", "3")
	n := 0
	if err := db.Scan([]byte("a"), []byte("z"), func(_, _ []byte) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("Scan went on to %d: %v", n, err)
	}
	if got := read(t, db, "c", "a"); len(got) != 0 {
		t.Errorf("a range that ends before it begins has %v", got)
	}
}

// atomicBatches: beside Apply, a scan sees whole batches, and a Get what some batch wrote.
func atomicBatches(t *testing.T, db state.DB) {
	const keys, batches = 40, 60
	write := func(n int) error {
		var b state.Batch
		for i := range keys {
			b.Put(fmt.Appendf(nil, "k%02d", i), fmt.Append(nil, n))
		}
		return db.Apply(&b, n%16 == 0)
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		var err error
		for n := 1; n < batches && err == nil; n++ {
			err = write(n)
		}
		done <- err
	}()
	last := 0
	for {
		seen := map[string]int{}
		for _, v := range read(t, db, "k", "l") {
			seen[v]++
		}
		if len(seen) != 1 {
			t.Errorf("one scan saw %v", seen)
		}
		for v, n := range seen {
			var at int
			if _, err := fmt.Sscan(v, &at); err != nil || at < last || n != keys {
				t.Errorf("batch %q with %d of %d keys, after batch %d", v, n, keys, last)
			}
			last = at
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error("Apply:", err)
			}
			return
		default:
		}
	}
}

func ingester(t *testing.T, db state.DB) state.Ingester {
	in, ok := db.(state.Ingester)
	if !ok {
		t.Skip("the backend is no Ingester, which is allowed")
	}
	return in
}

// sorted yields n rows with keys in one buffer, as Ingest must expect.
func sorted(prefix string, n int, value string) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		var k, v []byte
		for i := range n {
			k, v = fmt.Appendf(k[:0], "%s%06d", prefix, i), append(v[:0], value...)
			if !yield(k, v) {
				return
			}
		}
	}
}

func ingest(t *testing.T, db state.DB) {
	in := ingester(t, db)
	put(t, db, "a", "1", "m", "old", "m000001", "old", "mx", "old", "n", "1")
	for round, n := range []int{5000, 10, 0} {
		value := fmt.Sprint("round ", round)
		if err := in.Ingest(t.Context(), []byte("m"), []byte("n"), sorted("m", n, value)); err != nil {
			t.Fatal(err)
		}
		want := rows{"a": "1", "n": "1"}
		for k := range sorted("m", n, value) {
			want[string(k)] = value
		}
		same(t, read(t, db, "", end), want)
		put(t, db, "m000003", "later") // a write after it wins
		want["m000003"] = "later"
		same(t, read(t, db, "", end), want)
	}
}

// ingestOver: without a range, rows go over what is there.
func ingestOver(t *testing.T, db state.DB) {
	in := ingester(t, db)
	put(t, db, "a", "1", "m1", "old", "m2", "old", "m4", "old", "n", "1")
	for range 2 { // the second time over what is no longer in memory
		err := in.Ingest(t.Context(), nil, nil, func(yield func(k, v []byte) bool) {
			_ = yield([]byte("m0"), []byte("new")) && yield([]byte("m1"), nil) && yield([]byte("m2"), []byte("new")) && yield([]byte("m3"), []byte{})
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, read(t, db, "", end), rows{"a": "1", "m0": "new", "m2": "new", "m3": "", "m4": "old", "n": "1"})
	}
	if err := in.Ingest(t.Context(), nil, nil, func(func(k, v []byte) bool) {}); err != nil {
		t.Errorf("no rows: %v", err)
	}
	put(t, db, "m1", "later")
	same(t, read(t, db, "m", "n"), rows{"m0": "new", "m1": "later", "m2": "new", "m3": "", "m4": "old"})
}

func ingestCancelled(t *testing.T, db state.DB) {
	in := ingester(t, db)
	put(t, db, "m", "old")
	ctx, cancel := context.WithCancel(t.Context())
	err := in.Ingest(ctx, []byte("m"), []byte("n"), func(yield func(k, v []byte) bool) {
		n := 0
		for k, v := range sorted("m", 100000, "new") {
			if n++; n == 2000 {
				cancel()
			}
			if !yield(k, v) {
				return
			}
		}
		t.Error("Ingest read to the end")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Ingest: %v", err)
	}
	same(t, read(t, db, "", end), rows{"m": "old"})
}

// ingestBesideApply: one task is restored while another goes on.
func ingestBesideApply(t *testing.T, db state.DB) {
	in := ingester(t, db)
	done := make(chan error)
	go func() {
		var err error
		for range 5 {
			err = errors.Join(err, in.Ingest(context.Background(), []byte("m"), []byte("n"), sorted("m", 3000, "restored")))
		}
		done <- err
	}()
	want := rows{}
	for i := 0; ; i++ {
		k := fmt.Sprintf("a%03d", i%500)
		put(t, db, k, fmt.Sprint(i))
		want[k] = fmt.Sprint(i)
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			same(t, read(t, db, "a", "b"), want)
			if got := read(t, db, "m", "n"); len(got) != 3000 {
				t.Errorf("%d rows restored, want 3000", len(got))
			}
			return
		default:
		}
	}
}
