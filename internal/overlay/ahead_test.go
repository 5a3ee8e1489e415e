package overlay

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/weirstream/weir/serde"
)

// What is asked for ahead is neither read from the database nor kept, and nothing but what there is in memory is touched.
func TestFetchChangesNothing(t *testing.T) {
	db := openDB(t)
	touched := map[string]int{}
	s := New(Config[string]{Name: "s", DB: db, Prefix: prefix, Serde: serde.String, Plain: true}).Behind(func(v string) uint32 {
		touched[v]++
		return uint32(len(v))
	})
	for i := range 100 {
		s.Put(fmt.Append(nil, "key ", i), fmt.Sprint("value ", i))
	}
	s.Delete([]byte("key 7"))
	apply(t, db, freeze(t, s, 1))
	s.Applied(1)
	before := s.Usage()
	for i := range 200 {
		s.Ask(fmt.Append(nil, "key ", i))
	}
	s.Fetch()
	for i := range 100 {
		if n := touched[fmt.Sprint("value ", i)]; n != 1 && i != 7 {
			t.Errorf("value %d was touched %d times", i, n)
		}
	}
	if len(touched) != 99 {
		t.Errorf("%d values were touched, of 99", len(touched))
	}
	if now := s.Usage(); now != before || s.Stats().Reads != 0 {
		t.Errorf("%+v, %d reads, before %+v", now, s.Stats().Reads, before)
	}
}

// Small stores are in a cache anyway.
func TestFar(t *testing.T) {
	s := counts(nil, openDB(t), 0)
	for i := range 1_000_000 {
		if s.Far() {
			if bytes := s.Usage().Resident; bytes < farBytes || bytes > 2*farBytes {
				t.Errorf("far with %d bytes", bytes)
			}
			return
		}
		s.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), 0)
	}
	t.Error("a million entries are not far")
}
