package keys

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"testing"
)

// FuzzOrder checks for every layout that bytes sort as the parts do, and that the parts come back.
func FuzzOrder(f *testing.F) {
	f.Add([]byte("a"), int64(1), int64(2), []byte("a\x00"), int64(-1), int64(0))
	f.Add([]byte("a\x00"), int64(math.MinInt64), int64(0), []byte("a\x00\x00"), int64(math.MaxInt64), int64(0))
	f.Add(bytes.Repeat([]byte("a\x00"), fewBytes/2), int64(0), int64(0), bytes.Repeat([]byte("a\x00"), fewBytes), int64(0), int64(0)) // few and not
	f.Add([]byte{}, int64(0), int64(0), []byte{0}, int64(0), int64(1))
	f.Add([]byte{0, 1}, int64(0), int64(0), []byte{0, 0xff}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, k1 []byte, s1, e1 int64, k2 []byte, s2, e2 int64) {
		order := func(name string, a, b []byte, want int) {
			if got := bytes.Compare(a, b); got != want {
				t.Errorf("%s: (%x %d %d) against (%x %d %d): %d, want %d", name, k1, s1, e1, k2, s2, e2, got, want)
			}
		}
		byKey := cmp.Or(bytes.Compare(k1, k2), cmp.Compare(s1, s2))
		order("by key", AppendByKey(nil, k1, s1), AppendByKey(nil, k2, s2), byKey)
		order("by time", AppendByTime(nil, s1, k1), AppendByTime(nil, s2, k2), cmp.Or(cmp.Compare(s1, s2), bytes.Compare(k1, k2)))
		order("session", AppendSession(nil, k1, s1, e1), AppendSession(nil, k2, s2, e2),
			cmp.Or(bytes.Compare(k1, k2), cmp.Compare(e1, e2), cmp.Compare(s1, s2)))
		order("version", AppendVersion(nil, k1, s1), AppendVersion(nil, k2, s2), cmp.Or(bytes.Compare(k1, k2), cmp.Compare(s2, s1)))
		order("timer", AppendTimer(nil, string(k1), s1, k2), AppendTimer(nil, string(k2), s2, k1),
			cmp.Or(bytes.Compare(k1, k2), cmp.Compare(s1, s2), bytes.Compare(k2, k1)))

		if k, s, err := CutByKey(nil, AppendByKey(nil, k1, s1)); !bytes.Equal(k, k1) || s != s1 || err != nil {
			t.Errorf("by key: %x %d %v", k, s, err)
		}
		if s, k, err := CutByTime(AppendByTime(nil, s1, k1)); !bytes.Equal(k, k1) || s != s1 || err != nil {
			t.Errorf("by time: %x %d %v", k, s, err)
		}
		if k, s, e, err := CutSession(nil, AppendSession(nil, k1, s1, e1)); !bytes.Equal(k, k1) || s != s1 || e != e1 || err != nil {
			t.Errorf("session: %x %d %d %v", k, s, e, err)
		}
		if k, s, err := CutVersion(nil, AppendVersion(nil, k1, s1)); !bytes.Equal(k, k1) || s != s1 || err != nil {
			t.Errorf("version: %x %d %v", k, s, err)
		}
		if n, s, k, err := CutTimer(AppendTimer(nil, string(k2), s1, k1)); n != string(k2) || !bytes.Equal(k, k1) || s != s1 || err != nil {
			t.Errorf("timer: %x %d %x %v", n, s, k, err)
		}
	})
}

// FuzzCut feeds foreign bytes: an error, or exactly what the layout would have written.
func FuzzCut(f *testing.F) {
	f.Add([]byte("a\x00\x0112345678"))
	f.Add([]byte("a\x00\x02"))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, src []byte) {
		if k, ms, err := CutByKey(nil, src); err == nil && !bytes.Equal(AppendByKey(nil, k, ms), src) {
			t.Errorf("by key: %x is read as %x, %d", src, k, ms)
		} else if err != nil && !errors.Is(err, ErrMalformed) {
			t.Error(err)
		}
		if k, s, e, err := CutSession(nil, src); err == nil && !bytes.Equal(AppendSession(nil, k, s, e), src) {
			t.Errorf("session: %x is read as %x, %d, %d", src, k, s, e)
		}
		if n, at, k, err := CutTimer(src); err == nil && !bytes.Equal(AppendTimer(nil, n, at, k), src) {
			t.Errorf("timer: %x is read as %q, %d, %x", src, n, at, k)
		}
	})
}

// TestNoPrefixOfAnother: a range of one task or store never reaches into another's.
func TestNoPrefixOfAnother(t *testing.T) {
	names := []string{"a", "a\x00", "a\x00\x01", "ab", "", "a-1", "a-10", "\xff"}
	for _, a := range names {
		from, end := Task(a), End(Task(a))
		for _, b := range names {
			for _, k := range [][]byte{TaskRecord(b, "position"), Rows(b, a), StoreRecord(b, a, "format")} {
				if in := bytes.Compare(k, from) >= 0 && bytes.Compare(k, end) < 0; in != (a == b) {
					t.Errorf("%x of task %q lies in the range of task %q: %v", k, b, a, in)
				}
			}
			if a != b && bytes.HasPrefix(Rows("t", b), Store("t", a)) {
				t.Errorf("store %q begins as store %q does", b, a)
			}
		}
	}
}

func TestCutStore(t *testing.T) {
	for _, task := range []string{"a/0", "", "a\x00\x01"} {
		for _, store := range []string{"s", "s\x00"} {
			for _, key := range [][]byte{Rows(task, store), append(Rows(task, store), 0, 1, 2), StoreRecord(task, store, "format"), Store(task, store)} {
				if a, b, err := CutStore(key); a != task || b != store || err != nil {
					t.Errorf("%x: %q %q %v", key, a, b, err)
				}
			}
		}
		if a, b, err := CutStore(TaskRecord(task, "checkpoint")); a != task || b != "" || err != nil {
			t.Errorf("%q %q %v", a, b, err)
		}
	}
	for _, bad := range []string{"", "a", "a\x00\x01", "a\x00\x01\x02b"} {
		if _, _, err := CutStore([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEnd(t *testing.T) {
	for _, c := range []struct{ prefix, end []byte }{
		{[]byte("a"), []byte("b")}, {[]byte{1, 0xff, 0xff}, []byte{2}}, {[]byte{0}, []byte{1}},
	} {
		if got := End(c.prefix); !bytes.Equal(got, c.end) {
			t.Errorf("End(%x) = %x, want %x", c.prefix, got, c.end)
		}
	}
}

// TestLayout pins the bytes: state on disk and changelogs are read by later versions.
func TestLayout(t *testing.T) {
	key, at := []byte("a\x00b"), int64(1_700_000_000_000)
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"task record", TaskRecord("counts/3", "checkpoint"), "counts/3\x00\x01\x01checkpoint"},
		{"store record", StoreRecord("counts/3", "clicks", "format"), "counts/3\x00\x01\x02clicks\x00\x01\x00format"},
		{"row", append(Rows("counts/3", "clicks"), key...), "counts/3\x00\x01\x02clicks\x00\x01\x01a\x00b"},
		{"by time", AppendByTime(nil, at, key), "\x80\x00\x01\x8b\xcf\xe5\x68\x00a\x00b"},
		{"before 1970", AppendByTime(nil, -1, key), "\x7f\xff\xff\xff\xff\xff\xff\xffa\x00b"},
		{"by key", AppendByKey(nil, key, at), "a\x00\xffb\x00\x01\x80\x00\x01\x8b\xcf\xe5\x68\x00"},
		{"session", AppendSession(nil, key, at, at+1), "a\x00\xffb\x00\x01\x80\x00\x01\x8b\xcf\xe5\x68\x01\x80\x00\x01\x8b\xcf\xe5\x68\x00"},
		{"version", AppendVersion(nil, key, at), "a\x00\xffb\x00\x01\x7f\xff\xfe\x74\x30\x1a\x97\xff"},
		{"timer", AppendTimer(nil, "due", at, key), "due\x00\x01\x80\x00\x01\x8b\xcf\xe5\x68\x00a\x00b"},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}
