package serdetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weirstream/weir/serde"
)

// equal is Kit.Equal or its default.
func (k Kit[T]) equal(want, got T) bool {
	if k.Equal != nil {
		return k.Equal(want, got)
	}
	switch want := any(want).(type) {
	case time.Time:
		return want.Equal(any(got).(time.Time))
	case float64:
		if want != want {
			return any(got) != any(got)
		}
	}
	return reflect.DeepEqual(want, got)
}

// encoded returns the samples that have bytes, with them.
func (k Kit[T]) encoded() (values []T, encodings [][]byte, err error) {
	null, _ := k.Serde.(serde.Nullable[T])
	for i, v := range k.Samples {
		if null != nil && null.IsNull(v) {
			continue
		}
		b, err := k.Serde.Append(nil, v)
		if err != nil {
			return nil, nil, fmt.Errorf("sample %d (%.80v): Append: %w", i, v, err)
		}
		values, encodings = append(values, v), append(encodings, b)
	}
	return values, encodings, nil
}

func (k Kit[T]) checkFormat() error {
	f := k.Serde.Format()
	if f == "" {
		return errors.New("Format is empty: state could not tell this encoding from another")
	}
	if again := k.Serde.Format(); again != f {
		return fmt.Errorf("Format is %q, then %q", f, again)
	}
	return nil
}

func (k Kit[T]) checkRoundTrip() error {
	values, encodings, err := k.encoded()
	errs := []error{err}
	for i, v := range values {
		got, err := k.Serde.Decode(encodings[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("%.80v: Decode of % .80x: %w", v, encodings[i], err))
		} else if !k.equal(v, got) {
			errs = append(errs, fmt.Errorf("%+.200v came back as %+.200v", v, got))
		}
	}
	return errors.Join(errs...)
}

// checkNull looks at the null of a serde that has one. Encoding it must fail: in a topic it would be read as a value.
func (k Kit[T]) checkNull() error {
	n, ok := k.Serde.(serde.Nullable[T])
	if !ok {
		return nil
	}
	if !n.IsNull(n.Null()) {
		return fmt.Errorf("IsNull(Null()) is false for %v", n.Null())
	}
	if b, err := k.Serde.Append(nil, n.Null()); err == nil {
		return fmt.Errorf("Append of null gives % x: a reader would take it for a value", b)
	}
	return nil
}

// checkAppends gives Append a buffer that holds something, with room and without.
func (k Kit[T]) checkAppends() error {
	values, encodings, err := k.encoded()
	errs := []error{err}
	prefix := []byte("already here")
	for i, v := range values {
		for _, room := range []int{0, 1, len(encodings[i]), 2*len(encodings[i]) + 64} {
			dst := append(make([]byte, 0, len(prefix)+room), prefix...)
			poison(dst[len(dst):cap(dst)])
			got, err := k.Serde.Append(dst, v)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("%.80v: Append to a buffer in use: %w", v, err))
			case !bytes.HasPrefix(got, prefix) || !bytes.Equal(dst, prefix):
				errs = append(errs, fmt.Errorf("%.80v: Append changed what was in dst: %.80q", v, got))
			case !k.Varies && !bytes.Equal(got[len(prefix):], encodings[i]):
				errs = append(errs, fmt.Errorf("%.80v: appended % .80x to a buffer with %d bytes of room, but % .80x to nil", v, got[len(prefix):], room, encodings[i]))
			}
		}
	}
	return errors.Join(errs...)
}

// checkSameBytes encodes a value, and what it decodes to, and compares: keys are compared by their bytes.
func (k Kit[T]) checkSameBytes() error {
	if k.Varies {
		return nil
	}
	values, encodings, err := k.encoded()
	errs := []error{err}
	for i, v := range values {
		for range 8 {
			if again, err := k.Serde.Append(nil, v); err != nil || !bytes.Equal(again, encodings[i]) {
				errs = append(errs, fmt.Errorf("%.80v: encoded twice, %s, %v", v, differ(encodings[i], again), err))
				break
			}
		}
		if got, err := k.Serde.Decode(encodings[i]); err == nil {
			if again, err := k.Serde.Append(nil, got); err != nil || !bytes.Equal(again, encodings[i]) {
				errs = append(errs, fmt.Errorf("%.80v: decoded and encoded again, %s, %v", v, differ(encodings[i], again), err))
			}
		}
	}
	return errors.Join(errs...)
}

// differ shows where two encodings begin to differ.
func differ(a, b []byte) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return fmt.Sprintf("behind %d equal bytes there is %.40q, then %.40q", n, a[n:], b[n:])
}

// checkKeepsNoInput overwrites the input after Decode, and looks whether the value, or the input before that, changed.
func (k Kit[T]) checkKeepsNoInput() error {
	values, encodings, err := k.encoded()
	errs := []error{err}
	for i, v := range values {
		input := bytes.Clone(encodings[i])
		got, err := k.Serde.Decode(input)
		if err != nil {
			continue // RoundTrip has it
		}
		if !bytes.Equal(input, encodings[i]) {
			errs = append(errs, fmt.Errorf("%.80v: Decode wrote to its input", v))
		}
		poison(input)
		if !k.equal(v, got) {
			errs = append(errs, fmt.Errorf("%.80v: Decode kept its input, the value became %.80v when the buffer was used again", v, got))
		}
	}
	return errors.Join(errs...)
}

// poison is what a reused buffer looks like to whoever kept a part of it.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xA5
	}
}

func (k Kit[T]) checkOrder() error {
	if !serde.IsOrdered(k.Serde) {
		return nil
	}
	values, encodings, err := k.encoded()
	errs := []error{err}
	for i := range max(0, len(values)-1) {
		want := -1
		if k.equal(values[i], values[i+1]) {
			want = 0
		}
		if got := bytes.Compare(encodings[i], encodings[i+1]); got != want {
			errs = append(errs, fmt.Errorf("%.80v (% .80x) and the next sample %.80v (% .80x) compare as %d, want %d; are the samples in ascending order?",
				values[i], encodings[i], values[i+1], encodings[i+1], got, want))
		}
	}
	return errors.Join(errs...)
}

// checkConcurrent is most useful under the race detector.
func (k Kit[T]) checkConcurrent() error {
	values, encodings, err := k.encoded()
	if err != nil {
		return err
	}
	const goroutines, rounds = 8, 20
	failed := make(chan error, goroutines)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range rounds * len(values) {
				if err := k.tripOnce(values[i%len(values)], encodings[i%len(values)]); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

func (k Kit[T]) tripOnce(v T, want []byte) error {
	b, err := k.Serde.Append(nil, v)
	if err != nil {
		return fmt.Errorf("%.80v: Append beside others: %w", v, err)
	}
	if !k.Varies && !bytes.Equal(b, want) {
		return fmt.Errorf("%.80v: Append beside others gives % .80x, want % .80x", v, b, want)
	}
	got, err := k.Serde.Decode(b)
	if err != nil {
		return fmt.Errorf("%.80v: Decode beside others: %w", v, err)
	}
	if !k.equal(v, got) {
		return fmt.Errorf("%.80v: beside others it came back as %.80v", v, got)
	}
	return nil
}
