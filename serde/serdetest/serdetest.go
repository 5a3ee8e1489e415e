// Package serdetest checks that a serde keeps the contract of [serde.Serde]. A serde of your own is done when it passes:
//
//	func TestEvent(t *testing.T) {
//		serdetest.Run(t, eventSerde, Event{}, Event{ID: 1, Name: "a"})
//	}
//
//	func FuzzEvent(f *testing.F) { serdetest.Fuzz(f, eventSerde, Event{ID: 1, Name: "a"}) }
//
// Samples should reach every part of the type: empty and full, smallest and largest.
package serdetest

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/serde"
)

// Run checks s with these samples: that they come back as they were, that Append appends and Decode keeps nothing of its
// input, that hostile bytes are answered with errors in bounded memory, and that goroutines may share s. Samples of a
// serde that is [serde.Ordered] must be given in ascending order, and their bytes must ascend too.
func Run[T any](t *testing.T, s serde.Serde[T], samples ...T) {
	t.Helper()
	Kit[T]{Serde: s, Samples: samples}.Run(t)
}

// A Kit is what [Run] does, for serdes that need to say more.
type Kit[T any] struct {
	Serde   serde.Serde[T]
	Samples []T // at least one

	// Equal says when a value came back as it was. Default: reflect.DeepEqual, and for a time.Time the same instant.
	Equal func(want, got T) bool

	// Hostile has bytes to decode beside those made from the samples. None need to be valid.
	Hostile [][]byte

	// Varies says that equal values may have different encodings, which makes the serde unfit for keys.
	Varies bool

	// MaxAllocBytes is how much one call of Decode may allocate, whatever it is given, beside AllocFactor times the
	// length of its input. Default 1 MiB.
	MaxAllocBytes int

	// AllocFactor is described at MaxAllocBytes. Default 256.
	AllocFactor int
}

// Run checks k.Serde.
func (k Kit[T]) Run(t *testing.T) {
	t.Helper()
	if err := serde.Problem(k.Serde); err != nil {
		t.Fatal(err)
	}
	for _, c := range k.checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A check is one rule of the contract. It returns what broke it.
type check struct {
	name string
	run  func() error
}

func (k Kit[T]) checks() []check {
	return []check{
		{"Samples", k.checkSamples},
		{"Format", k.checkFormat},
		{"RoundTrip", k.checkRoundTrip},
		{"Null", k.checkNull},
		{"Appends", k.checkAppends},
		{"SameBytes", k.checkSameBytes},
		{"KeepsNoInput", k.checkKeepsNoInput},
		{"Order", k.checkOrder},
		{"Hostile", k.checkHostile},
		{"Concurrent", k.checkConcurrent},
	}
}

// Fuzz feeds s with what the fuzzer finds, starting from these samples, what [Run] makes of them, and seeds.
func Fuzz[T any](f *testing.F, s serde.Serde[T], samples ...T) {
	f.Helper()
	k := Kit[T]{Serde: s, Samples: samples, AllocFactor: 1024}
	for b := range k.hostileInputs() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := k.checkDecode(b); err != nil {
			t.Error(err)
		}
	})
}

// NoAllocs checks that Append of each value into a buffer that is large enough allocates nothing. It checks nothing under
// the race detector, which allocates by itself.
func NoAllocs[T any](t *testing.T, s serde.Serde[T], values ...T) {
	t.Helper()
	if raceEnabled {
		return
	}
	buf := make([]byte, 0, 64<<10)
	for _, v := range values {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := s.Append(buf, v); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("Append of %.80v makes %v allocations", v, n)
		}
	}
}

var errNoSamples = errors.New("there are no samples: the kit checks nothing without them")

func (k Kit[T]) checkSamples() error {
	if len(k.Samples) == 0 {
		return errNoSamples
	}
	return nil
}
