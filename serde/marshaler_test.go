package serde_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/weirstream/weir/serde"
)

// A sum marshals itself, by methods of the value and of the pointer.
type sum struct{ a, b int64 }

func (s sum) AppendBinary(b []byte) ([]byte, error) {
	if s.a < 0 {
		return b, errors.New("negative")
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(s.a)), uint64(s.b)), nil
}

func (s *sum) UnmarshalBinary(b []byte) error {
	if s.a != 0 || s.b != 0 {
		return errors.New("there was something before")
	}
	if s.a = int64(binary.BigEndian.Uint64(b)); len(b) < 16 {
		return errors.New("half of it is missing")
	}
	s.b = int64(binary.BigEndian.Uint64(b[8:]))
	return nil
}

// Types that marshal themselves are encoded and decoded without an allocation, pointers to them with that of what they point to. Nothing of
// one value is there for the next, after errors neither.
func TestOwnMarshalersAllocateNothing(t *testing.T) {
	value, pointer := serde.For[sum](), serde.For[*sum]()
	b, _ := value.Append(nil, sum{1, 2})
	of, room := &sum{3, 4}, make([]byte, 0, 64)
	both := func() {
		_, err1 := value.Append(room, sum{1, 2})
		_, err2 := pointer.Append(room, of)
		v, err3 := value.Decode(b)
		if p, err4 := pointer.Decode(b); err1 != nil || err2 != nil || err3 != nil || err4 != nil || v != (sum{1, 2}) || *p != v {
			t.Fatal(v, p, err1, err2, err3, err4)
		}
		_, _ = value.Decode(b[:8])
	}
	both()
	if _, err := value.Append(nil, sum{-1, 5}); err == nil {
		t.Error("an error was lost")
	}
	if _, err := pointer.Append(nil, nil); err == nil {
		t.Error("nil was encoded")
	}
	const refusal = 3 // of the damaged one
	if n := testing.AllocsPerRun(100, both); n > 1+refusal {
		t.Errorf("%v allocations", n)
	}
}
