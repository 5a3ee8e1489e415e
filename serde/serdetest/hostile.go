package serdetest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"slices"

	"github.com/weirstream/weir/serde"
)

// lengths are what a hostile length looks like: variable-length integers near 2^31, 2^63 and 2^64, plain and zig-zag,
// and four bytes of all ones.
var lengths = [][]byte{
	{0xff, 0xff, 0xff, 0xff, 0x0f},
	{0xfe, 0xff, 0xff, 0xff, 0x0f},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	{0xff, 0xff, 0xff, 0xff},
	{0x7f, 0xff, 0xff, 0xff},
}

// maxPositions bounds in how many places a sample is damaged, so that a large one costs no more than a small one.
const maxPositions = 200

// hostileInputs damages the samples in every way the kit knows. The same samples give the same inputs.
func (k Kit[T]) hostileInputs() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		_, encodings, _ := k.encoded() // an error is RoundTrip's
		for _, b := range slices.Concat([][]byte{{}}, k.Hostile, encodings) {
			if !yield(b) || !truncate(b, yield) || !mutate(b, random, yield) || !lengthen(b, yield) {
				return
			}
		}
	}
}

// truncate yields b cut at every byte.
func truncate(b []byte, yield func([]byte) bool) bool {
	for i := range positions(b) {
		if !yield(b[:i:i]) {
			return false
		}
	}
	return true
}

// mutate yields b with a byte changed, removed or added in every place.
func mutate(b []byte, random *rand.Rand, yield func([]byte) bool) bool {
	for i := range positions(b) {
		for _, change := range []byte{0x01, 0x80, 0xff, byte(random.Uint32())} {
			m := bytes.Clone(b)
			m[i] ^= change
			if !yield(m) {
				return false
			}
		}
		if !yield(slices.Concat(b[:i], b[i+1:])) || !yield(slices.Concat(b[:i], []byte{byte(random.Uint32())}, b[i:])) {
			return false
		}
	}
	return yield(slices.Concat(b, b)) && yield(append(bytes.Clone(b), 0)) && yield(append(bytes.Clone(b), make([]byte, 1024)...))
}

// lengthen yields b with a hostile length in every place, written over what is there and put between.
func lengthen(b []byte, yield func([]byte) bool) bool {
	for i := range positions(b) {
		for _, l := range lengths {
			if !yield(slices.Concat(b[:i], l, b[min(len(b), i+len(l)):])) || !yield(slices.Concat(b[:i], l, b[min(len(b), i+1):])) {
				return false
			}
		}
	}
	return true
}

// positions iterates over the indexes of b, or over maxPositions of them, evenly spread.
func positions(b []byte) iter.Seq[int] {
	step := max(1, len(b)/maxPositions)
	return func(yield func(int) bool) {
		for i := 0; i < len(b); i += step {
			if !yield(i) {
				return
			}
		}
	}
}

func (k Kit[T]) checkHostile() error {
	const enough = 5
	var errs []error
	for b := range k.hostileInputs() {
		if err := k.checkDecode(b); err != nil {
			errs = append(errs, err)
		}
		if len(errs) == enough {
			break
		}
	}
	return errors.Join(errs...)
}

// checkDecode decodes b, which may be anything. What it decodes to, if it does, must be a value like any other: when it can be
// encoded, that decodes to the same.
func (k Kit[T]) checkDecode(b []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Decode of % .200x panics: %v\n%s", b, p, debug.Stack())
		}
	}()
	input, before := bytes.Clone(b), allocated()
	v, decodeErr := k.Serde.Decode(input)
	if got, limit := allocated()-before, k.allocLimit(len(b)); got > limit {
		return fmt.Errorf("Decode of %d bytes (% .200x) allocates %d bytes, more than %d", len(b), b, got, limit)
	}
	if !bytes.Equal(input, b) {
		return fmt.Errorf("Decode of % .200x wrote to its input", b)
	}
	if errors.Is(decodeErr, serde.ErrRegistryUnavailable) {
		return fmt.Errorf("Decode of % .200x: bad bytes look like an outage, the task would wait forever: %w", b, decodeErr)
	}
	if decodeErr != nil {
		return nil
	}
	return k.checkAgain(v)
}

// checkAgain encodes a value that hostile bytes decoded to.
func (k Kit[T]) checkAgain(v T) error {
	if n, ok := k.Serde.(serde.Nullable[T]); ok && n.IsNull(v) {
		return nil
	}
	first, err := k.Serde.Append(nil, v)
	if err != nil {
		return nil // it cannot be written, and a topology that tries gets an error
	}
	again, err := k.Serde.Decode(first)
	if err != nil {
		return fmt.Errorf("%.80v encodes as % .200x, which does not decode: %w", v, first, err)
	}
	second, err := k.Serde.Append(nil, again)
	if err != nil || !k.Varies && !bytes.Equal(first, second) {
		return fmt.Errorf("%.80v encodes as % .200x, and decoded again as % .200x, %v", v, first, second, err)
	}
	return nil
}

func (k Kit[T]) allocLimit(n int) uint64 {
	limit, factor := k.MaxAllocBytes, k.AllocFactor
	if limit == 0 {
		limit = 1 << 20
	}
	if factor == 0 {
		factor = 256
	}
	return uint64(limit + factor*n)
}

// allocated returns the bytes allocated so far by the process. Small objects are counted late, which does not matter
// here.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
