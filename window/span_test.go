package window

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/span"
)

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSpanText(t *testing.T) {
	for _, c := range []struct {
		span Span
		text string
	}{
		{Span{}, "1970-01-01T00:00:00Z/1970-01-01T00:00:00Z"},
		{Span{-1, 1}, "1969-12-31T23:59:59.999Z/1970-01-01T00:00:00.001Z"},
		{Span{1_700_000_000_500, 1_700_000_060_000}, "2023-11-14T22:13:20.5Z/2023-11-14T22:14:20Z"},
		{Span{0, span.Never}, "1970-01-01T00:00:00Z/.."},
		{Span{-62167219200001, 253402300800000}, "@-62167219200001/@253402300800000"},
		{Span{math.MinInt64, math.MaxInt64 - 1}, "@-9223372036854775808/@9223372036854775806"},
	} {
		if got := c.span.String(); got != c.text {
			t.Errorf("String = %s, want %s", got, c.text)
		}
		var back Span
		if err := back.UnmarshalText([]byte(c.text)); err != nil || back != c.span {
			t.Errorf("UnmarshalText(%s) = %v, %v", c.text, back, err)
		}
	}
}

func TestSpanTextFromElsewhere(t *testing.T) {
	var s Span
	if err := s.UnmarshalText([]byte("2024-01-01T01:00:00.0009+01:00/2024-01-01T00:00:01Z")); err != nil {
		t.Fatal(err)
	}
	if want := NewSpan(at(t, "2024-01-01T00:00:00Z"), at(t, "2024-01-01T00:00:01Z")); s != want {
		t.Errorf("another zone and more digits give %v, want %v", s, want)
	}
	for text, want := range map[string]string{
		"":                          "no '/'",
		"2024-01-01T00:00:00Z":      "no '/'",
		"/":                         "start",
		"../2024-01-01T00:00:00Z":   "start",
		"2024-01-01T00:00:00Z/soon": "end",
		"@1/@x":                     "end",
		"@2/@1":                     "ends before",
		"@99999999999999999999/@1":  "start",
		strings.Repeat("/", 1000):   "start",
	} {
		kept := s
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("UnmarshalText(%.30q) = %v, want one about %q", text, err, want)
		}
		if s != kept {
			t.Errorf("a failed UnmarshalText(%.30q) changed the span", text)
		}
	}
}

func FuzzSpanText(f *testing.F) {
	f.Add("1970-01-01T00:00:00Z/..")
	f.Add("@-1/@1")
	f.Add("0000-01-01T00:00:00Z/9999-12-31T23:59:59.999Z")
	f.Add("2024-02-30T00:00:00Z/2024-01-01T00:00:60Z")
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Span
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalText(written); err != nil || again != s {
			t.Fatalf("%q was written as %q and read as %v, %v", text, written, again, err)
		}
	})
}

func TestNewSpan(t *testing.T) {
	from, to := at(t, "2024-01-01T00:00:00.0019Z"), at(t, "2024-01-01T00:00:00.0999Z")
	s := NewSpan(from, to)
	if s.Start() != at(t, "2024-01-01T00:00:00.001Z") || s.End() != at(t, "2024-01-01T00:00:00.099Z") || s.Duration() != 98*time.Millisecond {
		t.Errorf("cut to milliseconds: %v lasts %v", s, s.Duration())
	}
	if !s.Contains(from) || s.Contains(to) || s.Contains(s.Start().Add(-1)) {
		t.Error("a span holds its start and not its end")
	}
	if empty := NewSpan(to, from); empty.Contains(to) || empty.Duration() != 0 {
		t.Errorf("an end before the start makes %v", empty)
	}
	if NewSpan(time.UnixMilli(-1).Add(-1), time.UnixMilli(0)).Start() != time.UnixMilli(-2).UTC() {
		t.Error("cutting before 1970 must go down, or a time would leave its span")
	}
	if SpanMillis(s.Millis()) != s {
		t.Error("SpanMillis and Millis are not inverse")
	}
}

func TestSpanCompare(t *testing.T) {
	spans := []Span{{3, 4}, {1, 5}, {1, 2}, {-1, 9}, {1, 2}}
	slices.SortFunc(spans, Span.Compare)
	if want := []Span{{-1, 9}, {1, 2}, {1, 2}, {1, 5}, {3, 4}}; !slices.Equal(spans, want) {
		t.Errorf("sorted: %v", spans)
	}
}

func TestKeyKeepsBothInJSON(t *testing.T) {
	k := Key[string]{"a", Span{0, 60_000}}
	b, err := json.Marshal(k)
	if want := `{"Key":"a","Span":"1970-01-01T00:00:00Z/1970-01-01T00:01:00Z"}`; err != nil || string(b) != want {
		t.Errorf("json = %s, %v, want %s", b, err, want)
	}
	var back Key[string]
	if err := json.Unmarshal(b, &back); err != nil || back != k {
		t.Errorf("json came back as %v, %v", back, err)
	}
	nested := Key[Key[string]]{k, Span{1, 2}}
	if want := "a@1970-01-01T00:00:00Z/1970-01-01T00:01:00Z@1970-01-01T00:00:00.001Z/1970-01-01T00:00:00.002Z"; nested.String() != want {
		t.Errorf("String = %s, want %s", nested, want)
	}
}

// wrap is how operators make the key of a result: a conversion that the compiler proves and that does not allocate.
func wrap[K any, WK KeyOf[K]](k K, s Span) WK { return WK(Key[K]{k, s}) }

func TestKeyOfConverts(t *testing.T) {
	s := Span{1, 2}
	if got := wrap[string, Key[string]]("a", s); got != (Key[string]{"a", s}) {
		t.Errorf("wrap = %v", got)
	}
	var n int64
	if allocs := testing.AllocsPerRun(100, func() { n += wrap[int64, Key[int64]](n, s).Key }); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}
