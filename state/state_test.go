package state

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestBatchOrder(t *testing.T) {
	var b Batch
	if !b.Empty() {
		t.Error("the zero batch is not empty")
	}
	part := func(k string) iter.Seq2[[]byte, []byte] {
		return func(yield func(k, v []byte) bool) { _ = yield([]byte(k), nil) && yield([]byte(k+k), []byte{}) }
	}
	for range 2 { // the second time with the memory of the first
		b.Append(part("p"), 3)
		b.Put([]byte("a"), []byte("1"))
		b.Delete([]byte("b"))
		b.Append(part("q"), 3)
		b.Append(part("r"), 3)
		b.Put([]byte("c"), nil)
		b.DeleteRange([]byte("x"), []byte("y"))
		var got []string
		for k, v := range b.Ops() {
			if v == nil {
				got = append(got, "-"+string(k))
			} else {
				got = append(got, string(k)+"="+string(v))
			}
		}
		want := []string{"-p", "pp=", "a=1", "-b", "-q", "qq=", "-r", "rr=", "c="}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		for from, to := range b.DeletedRanges() {
			if string(from) != "x" || string(to) != "y" {
				t.Errorf("range [%s, %s)", from, to)
			}
		}
		if b.Bytes() != 9+2+1+1+2 || b.Empty() {
			t.Errorf("%d bytes", b.Bytes())
		}
		for range b.Ops() {
			break // an early end must not panic
		}
		b.Reset()
		if !b.Empty() || b.Bytes() != 0 {
			t.Error("Reset left something")
		}
	}
}

type fake string

func (f fake) Format() string { return string(f) }

type evolving struct {
	fake
	reads string
}

func (e evolving) Accepts(stored string) error {
	if stored == e.reads {
		return nil
	}
	return errors.New("field b is gone")
}

func TestCheckStore(t *testing.T) {
	db, err := InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("format")
	record, err := CheckStore(db, key, "sums", "keyvalue", fake("string"), fake("json"))
	if record == nil || err != nil {
		t.Fatalf("a new store: %q, %v", record, err)
	}
	put := func(f Format) {
		t.Helper()
		v, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		b.Put(key, v)
		if err := db.Apply(&b, true); err != nil {
			t.Fatal(err)
		}
	}
	put(NewFormat("keyvalue", fake("string"), fake("json")))
	for _, c := range []struct {
		name, kind string
		k, v       formatter
		write      bool
		err        string
	}{
		{"same", "keyvalue", fake("string"), fake("json"), false, ""},
		{"kind", "window", fake("string"), fake("json"), false, `"sums" is a keyvalue store on disk and a window store`},
		{"key", "keyvalue", fake("int64"), fake("json"), false, `"sums" has keys in format "string", the topology has "int64"`},
		{"value", "keyvalue", fake("string"), fake("avro:1"), false, `"sums" has values in format "json", the topology has "avro:1"`},
		{"evolves", "keyvalue", fake("string"), evolving{"avro:2", "json"}, true, ""},
		{"refuses", "keyvalue", fake("string"), evolving{"avro:2", "avro:1"}, false, "field b is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, err := CheckStore(db, key, "sums", c.kind, c.k, c.v)
			if c.write != (record != nil) {
				t.Errorf("record to write is %q", record)
			}
			if c.err == "" != (err == nil) || err != nil && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
	put(Format{Version: FormatVersion + 1, Kind: "keyvalue", Key: "string", Value: "json"})
	if _, err := CheckStore(db, key, "sums", "keyvalue", fake("string"), fake("json")); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a later version: %v", err)
	}
}

// learning accepts every format that it is told, and remembers them.
type learning struct {
	fake
	told *[]string
}

func (l learning) Accepts(stored string) error { *l.told = append(*l.told, stored); return nil }

// A value that is not written again keeps its format through all versions of a program, so each is told of all before it.
func TestCheckStoreRemembersFormats(t *testing.T) {
	db, err := InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("format")
	for _, c := range []struct {
		now    string
		told   []string
		writes bool
	}{
		{"v1", nil, true},
		{"v1", nil, false},
		{"v2", []string{"v1"}, true},
		{"v2", []string{"v1"}, false},
		{"v3", []string{"v1", "v2"}, true},
		{"v1", []string{"v2", "v3"}, true}, // back again
		{"v4", []string{"v2", "v3", "v1"}, true},
	} {
		var told []string
		record, err := CheckStore(db, key, "sums", "keyvalue", fake("string"), learning{fake(c.now), &told})
		if err != nil || c.writes != (record != nil) || !slices.Equal(told, c.told) {
			t.Errorf("%s was told of %q, want %q; record %q, %v", c.now, told, c.told, record, err)
		}
		if record != nil {
			var b Batch
			b.Put(key, record)
			if err := db.Apply(&b, true); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFormatBytes: what is on disk never changes for a version.
func TestFormatBytes(t *testing.T) {
	b, err := Format{Version: 1, Kind: "window", Key: "string", Value: "avro:5ad1e0"}.AppendBinary(nil)
	if want := "\x01\x06window\x06string\x0bavro:5ad1e0"; string(b) != want || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func FuzzParseFormat(f *testing.F) {
	f.Add([]byte("\x01\x06window\x06string\x0bavro:5ad1e0"))
	f.Add([]byte("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseFormat(b)
		if err != nil {
			return
		}
		enc, err := got.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseFormat(enc); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%+v, %v; first %+v", again, err, got)
		}
	})
}

// TestMemoryIsVersioned: a scan sees the rows as they were when it began, a reader sees a whole batch or nothing of it.
func TestMemoryIsVersioned(t *testing.T) {
	db, err := InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		var b Batch
		for i := range 500 {
			b.Put(fmt.Appendf(nil, "%03d", i), fmt.Append(nil, n))
		}
		if err := db.Apply(&b, false); err != nil {
			t.Error(err)
		}
	}
	write(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 50 {
			write(n)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		seen := map[string]bool{}
		if err := db.Scan([]byte("0"), []byte("9"), func(_, v []byte) bool { seen[string(v)] = true; return true }); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 {
			t.Fatalf("one scan saw the batches %v", slices.Sorted(maps.Keys(seen)))
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get([]byte("001"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := db.Apply(new(Batch), false); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
