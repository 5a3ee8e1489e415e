package stream

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// Lists that were written an element a row are read. Of a list that goes, and of a refused record, no chunk is left.
func TestFirstFormOfListsIsRead(t *testing.T) {
	s := listRowSerde[string]{grown{serde.String}, new(int)}
	for _, stored := range []string{"list/1:v1", "list/2:v1", "list/1:v2", "list/2:v2"} {
		if err := serde.Accepts[listRow[string]](s, stored); err != nil {
			t.Errorf("%s: %v", stored, err)
		}
	}
	for _, stored := range []string{"list/3:v1", "v1", "list/1:v0"} {
		if serde.Accepts[listRow[string]](s, stored) == nil {
			t.Errorf("%s is accepted", stored)
		}
	}
	db, err := state.InMemory().Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var b state.Batch
	key := []byte("key")
	head := appendChunkKey([]byte{listCount}, nil, 3)
	b.Put([]byte("pkey"), binary.BigEndian.AppendUint64(head, 77))
	want := []string{"a", "", "c"}
	for i, e := range want {
		b.Put(appendChunkKey([]byte("p"), key, int64(i)), append([]byte{listElement}, e...))
	}
	if err := db.Apply(&b, false); err != nil {
		t.Fatal(err)
	}
	l := &list[string]{cell: cell[listRow[string]]{store: overlay.New(overlay.Config[listRow[string]]{DB: db, Prefix: []byte("p"), Serde: s})}, rows: s}
	h, ok := l.store.Get(key)
	if !ok || !h.head || h.start != 3 || h.time != 77 || h.last() != nil {
		t.Fatalf("the head is %+v, %v", h, ok)
	}
	var got []string
	l.chunks(key, h.start, func(e string) bool { got = append(got, e); return true })
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	noneLeft := func() {
		t.Helper()
		for k := range l.store.Keys(nil) {
			t.Errorf("%q is left", k)
		}
	}
	l.run = &processing{}
	l.drop(key, h)
	noneLeft()
	l.run.guarded = true
	l.put(key, 0, &chunk[string]{elements: []string{"refused"}})
	l.run.undo[0]()
	noneLeft()
}

// Rows come back whole, damaged ones are refused, and their size is that of the elements.
func TestRowsOfLists(t *testing.T) {
	s := listRowSerde[string]{serde.String, new(int)}
	for _, r := range []listRow[string]{
		{head: true, start: 5, time: 6},
		{head: true, chunk: &chunk[string]{elements: []string{"a", "", "b"}}},
		{chunk: &chunk[string]{elements: []string{"element"}}},
	} {
		b, err := s.Append([]byte("before"), r)
		if err != nil {
			t.Fatal(err)
		}
		b = b[len("before"):]
		back, err := s.Decode(b)
		if err != nil || back.head != r.head || back.start != r.start || back.time != r.time || !slices.Equal(back.last(), r.last()) {
			t.Errorf("%+v came back as %+v, %v", r, back, err)
		}
		if s.Size(back) != s.Size(r) {
			t.Errorf("%d bytes came back as %d", s.Size(r), s.Size(back))
		}
		for _, damaged := range [][]byte{b[:len(b)-1], append(slices.Clone(b), 0)} {
			if _, err := s.Decode(damaged); !errors.Is(err, errListRow) {
				t.Errorf("%q: %v", damaged, err)
			}
		}
	}
	for _, damaged := range []string{"", "\x07", "\x01", "\x02123"} {
		if _, err := s.Decode([]byte(damaged)); !errors.Is(err, errListRow) {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// What was not encoded yet is estimated, so that memory stays bounded, and a head becomes a chunk where writing it again would cost.
func TestSizesOfLists(t *testing.T) {
	s := listRowSerde[string]{serde.String, new(int)}
	s.learn("0123456789")
	c := &chunk[string]{}
	for range 1000 {
		if c.elements = append(c.elements, "0123456789"); s.full(c) {
			break
		}
	}
	if n := len(c.elements); n != listChunk/14+1 {
		t.Errorf("a head becomes a chunk with %d elements", n)
	}
	guess := s.Size(listRow[string]{chunk: c})
	if _, err := s.Append(nil, listRow[string]{chunk: c}); err != nil || s.Size(listRow[string]{chunk: c}) != guess {
		t.Errorf("%d bytes were guessed, and are %d, %v", guess, s.Size(listRow[string]{chunk: c}), err)
	}
	if c = (&chunk[string]{elements: make([]string, 40), encoded: 40, bytes: listRewritten}); !s.full(c) {
		t.Error("a head that was written is written again and again")
	}
}
