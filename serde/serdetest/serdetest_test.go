package serdetest

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/serde"
)

// A broken serde says which check must notice it.
type broken struct {
	notices string
	kit     Kit[[]byte]
}

func appendCopy(dst []byte, v []byte) ([]byte, error) { return append(dst, v...), nil }
func decodeCopy(b []byte) ([]byte, error)             { return append([]byte{}, b...), nil }

func brokenSerdes() map[string]broken {
	bytes := func(append func([]byte, []byte) ([]byte, error), decode func([]byte) ([]byte, error)) Kit[[]byte] {
		return Kit[[]byte]{Serde: serde.New("broken", append, decode), Samples: [][]byte{[]byte("one"), []byte("three")}}
	}
	calls := byte(0)
	return map[string]broken{
		"no samples":   {"Samples", Kit[[]byte]{Serde: serde.Bytes}},
		"no format":    {"Format", Kit[[]byte]{Serde: serde.New("", appendCopy, decodeCopy)}},
		"loses":        {"RoundTrip", bytes(appendCopy, func(b []byte) ([]byte, error) { return decodeCopy(b[:len(b)/2]) })},
		"cannot read":  {"RoundTrip", bytes(appendCopy, func(b []byte) ([]byte, error) { return nil, errors.New("no") })},
		"cannot write": {"RoundTrip", bytes(func(dst, v []byte) ([]byte, error) { return dst, errors.New("no") }, decodeCopy)},
		"overwrites":   {"Appends", bytes(func(dst, v []byte) ([]byte, error) { return append(dst[:0], v...), nil }, decodeCopy)},
		"varies": {"SameBytes", bytes(
			func(dst, v []byte) ([]byte, error) { calls++; return append(append(dst, calls), v...), nil },
			func(b []byte) ([]byte, error) { return decodeCopy(b[min(1, len(b)):]) })},
		"keeps input":  {"KeepsNoInput", bytes(appendCopy, func(b []byte) ([]byte, error) { return b, nil })},
		"writes input": {"KeepsNoInput", bytes(appendCopy, func(b []byte) ([]byte, error) { v, err := decodeCopy(b); clear(b); return v, err })},
		"misordered":   {"Order", Kit[[]byte]{Serde: serde.Bytes, Samples: [][]byte{[]byte("b"), []byte("a")}}},
		"panics":       {"Hostile", bytes(appendCopy, func(b []byte) ([]byte, error) { _ = b[2]; return decodeCopy(b) })},
		"allocates": {"Hostile", bytes(appendCopy, func(b []byte) ([]byte, error) {
			if len(b) > 0 && b[0] == 0xff {
				return make([]byte, 64<<20), nil
			}
			return decodeCopy(b)
		})},
		"calls it an outage": {"Hostile", bytes(appendCopy, func(b []byte) ([]byte, error) { return nil, serde.ErrRegistryUnavailable })},
	}
}

func TestKitNotices(t *testing.T) {
	for name, b := range brokenSerdes() {
		t.Run(name, func(t *testing.T) {
			for _, c := range b.kit.checks() {
				if c.name != b.notices {
					continue
				}
				if err := c.run(); err == nil {
					t.Errorf("%s did not notice", b.notices)
				}
				return
			}
			t.Fatalf("there is no check %s", b.notices)
		})
	}
}

// bytesWithNull calls an empty slice null.
type bytesWithNull struct {
	serde.Serde[[]byte]
	encodes bool
}

func (bytesWithNull) IsNull(v []byte) bool { return len(v) == 0 }
func (bytesWithNull) Null() []byte         { return nil }
func (b bytesWithNull) Append(dst, v []byte) ([]byte, error) {
	if len(v) == 0 && !b.encodes {
		return dst, errors.New("null")
	}
	return b.Serde.Append(dst, v)
}

func TestKitNoticesNull(t *testing.T) {
	k := Kit[[]byte]{Serde: bytesWithNull{serde.Bytes, true}, Samples: [][]byte{nil}}
	if k.checkNull() == nil {
		t.Error("an encoded null was not noticed")
	}
	Run(t, bytesWithNull{serde.Bytes, false}, nil, []byte("a"))
}
