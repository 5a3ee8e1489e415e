package window

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/span"
)

type spec interface {
	fmt.Stringer
	Validate() error
}

func TestValidate(t *testing.T) {
	far := time.UnixMilli(span.Limit).Add(time.Second)
	for _, c := range []struct {
		spec spec
		want string // "" is valid; several parts must all be said
	}{
		{Tumbling(time.Minute), ""},
		{Tumbling(time.Millisecond).Offset(-time.Hour).Grace(time.Hour), ""},
		{Hopping(24*time.Hour, 6*time.Hour), ""},
		{Hopping(10*time.Second, 3*time.Second), ""},
		{Sliding(0), ""},
		{Daily(time.UTC).Offset(4 * time.Hour).Grace(time.Minute), ""},
		{Unlimited(time.Time{}), ""},
		{Session(time.Millisecond).Grace(time.Second), ""},
		{Within(0), ""},
		{Between(-time.Second, time.Minute).Grace(time.Second), ""},
		{Between(time.Minute, -time.Minute), ""},

		{Spec{}, "zero Spec"},
		{Spec{}.Grace(time.Second), "zero Spec"},
		{SessionSpec{}, "gap 0s is not positive"},
		{JoinSpec{}, "zero JoinSpec"},
		{Tumbling(0), "size 0s is not positive"},
		{Tumbling(1500 * time.Microsecond).Grace(-time.Second), "size 1.5ms is not in whole; grace -1s is negative"},
		{Tumbling(time.Second).Offset(time.Microsecond), "offset 1µs is not in whole"},
		{Hopping(time.Second, 2*time.Second), "advance 2s exceeds size 1s"},
		{Hopping(time.Second, -time.Second), "advance -1s is not positive"},
		{Sliding(-time.Second), "difference -1s is negative"},
		{Sliding(time.Second).Offset(time.Second), "takes no offset"},
		{Daily(nil), "location is nil"},
		{Daily(time.UTC).Offset(24 * time.Hour), "not a time of day"},
		{Unlimited(far), "beyond all event times"},
		{Unlimited(time.Time{}).Grace(time.Second).Offset(time.Second), "takes no offset; takes no grace"},
		{Session(-time.Second).Grace(-1), "gap -1s is not positive; grace -1ns is negative; grace -1ns is not in whole"},
		{Between(time.Second, -time.Minute), "leave no time between"},
		{Within(-time.Second), "leave no time between"},
		{Within(time.Nanosecond), "before 1ns is not in whole; after 1ns is not in whole"},
		{Within(time.Second).Grace(-time.Second), "grace -1s is negative"},
	} {
		err := c.spec.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%v: %v", c.spec, err)
			}
			continue
		}
		for part := range strings.SplitSeq(c.want, "; ") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: Validate = %v, want %q", c.spec, err, part)
			}
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		spec spec
		want string
	}{
		{Spec{}, "none"},
		{Tumbling(time.Minute), "tumbling(1m0s)"},
		{Hopping(time.Minute, time.Second).Offset(-time.Second).Grace(5 * time.Second), "hopping(1m0s, 1s).offset(-1s).grace(5s)"},
		{Sliding(time.Second), "sliding(1s)"},
		{Daily(time.UTC).Offset(time.Hour), "daily(UTC).offset(1h0m0s)"},
		{Unlimited(time.UnixMilli(0)), "unlimited(1970-01-01T00:00:00Z)"},
		{Session(time.Hour).Grace(time.Minute), "session(1h0m0s).grace(1m0s)"},
		{Within(time.Second), "within(1s)"},
		{Between(0, time.Second).Grace(time.Second), "between(0s, 1s).grace(1s)"},
	} {
		if got := c.spec.String(); got != c.want {
			t.Errorf("String = %s, want %s", got, c.want)
		}
	}
}

func TestEngine(t *testing.T) {
	got := Hopping(10*time.Second, 2*time.Second).Offset(-500 * time.Millisecond).Grace(time.Second).Engine()
	want := span.Spec{Kind: span.Aligned, Size: 10_000, Advance: 2_000, Offset: 1_500, Grace: 1_000}
	if got != want {
		t.Errorf("Engine = %+v, want %+v", got, want)
	}
	sliding := Sliding(time.Second).Grace(time.Minute).Engine()
	if got := sliding.Slide(); got != (span.Slide{Difference: 1000, Grace: 60_000}) {
		t.Errorf("Slide = %+v", got)
	}
	if got := Session(time.Second).Grace(time.Minute).Engine(); got != (span.Sessions{Gap: 1000, Grace: 60_000}) {
		t.Errorf("Sessions = %+v", got)
	}
	if got := Between(-time.Second, time.Minute).Grace(time.Hour).Engine(); got != (span.Join{Before: -1000, After: 60_000, Grace: 3_600_000}) {
		t.Errorf("Join = %+v", got)
	}
	if got := Unlimited(time.UnixMilli(-7)).Engine(); got.Origin != -7 || got.Kind != span.Unlimited {
		t.Errorf("Unlimited = %+v", got)
	}
}

// The longest durations there are still make sums that do not wrap.
func TestLongest(t *testing.T) {
	const longest = (1<<63 - 1) / time.Millisecond * time.Millisecond
	s := Tumbling(longest).Offset(-longest).Grace(longest)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, ms := range []int64{-1 << 63, 0, 1<<63 - 1} {
		e := s.Engine()
		if w := e.Of(ms).First; w.End <= w.Start || e.Close(w) <= w.End {
			t.Errorf("at %d: %v", ms, w)
		}
	}
	if err := Between(longest, -longest).Validate(); err != nil {
		t.Error(err)
	}
}
