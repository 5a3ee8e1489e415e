package span

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive finds the spans of t by trying every start near it.
func naive(s Spec, t int64) []Span {
	var spans []Span
	for start := t - s.Size; start <= t; start++ {
		onGrid := (start-s.Offset)%s.Advance == 0
		if w := (Span{start, start + s.Size}); onGrid && w.Contains(t) {
			spans = append(spans, w)
		}
	}
	return spans
}

func spans(r Run) []Span {
	var all []Span
	for i := range r.N {
		all = append(all, r.At(i))
	}
	return all
}

func checkAligned(t *testing.T, s Spec, at, watermark int64) {
	t.Helper()
	all := naive(s, at)
	normal := s.Normal()
	if got := spans(normal.Of(at)); !slices.Equal(got, all) {
		t.Fatalf("%+v Of(%d) = %v, want %v", s, at, got, all)
	}
	open := slices.DeleteFunc(slices.Clone(all), func(w Span) bool { return w.End+s.Grace <= watermark })
	if got := spans(normal.Open(at, watermark)); !slices.Equal(got, open) {
		t.Fatalf("%+v Open(%d, %d) = %v, want %v", s, at, watermark, got, open)
	}
	if len(all) > normal.Overlap() {
		t.Fatalf("%+v: %d spans at %d exceed the overlap %d", s, len(all), at, normal.Overlap())
	}
}

func TestAlignedAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		size := 1 + r.Int64N(60)
		s := Spec{Kind: Aligned, Size: size, Advance: 1 + r.Int64N(size), Offset: r.Int64N(200) - 100, Grace: r.Int64N(30)}
		at := r.Int64N(400) - 200
		checkAligned(t, s, at, at+r.Int64N(200)-100)
	}
}

func FuzzAligned(f *testing.F) {
	f.Add(uint16(10), uint16(2), int16(-3), uint16(0), int64(-1), int16(5))
	f.Add(uint16(1), uint16(1), int16(0), uint16(9), int64(0), int16(0))
	f.Add(uint16(7), uint16(7), int16(500), uint16(1), int64(math.MaxInt32), int16(-200))
	f.Fuzz(func(t *testing.T, size, advance uint16, offset int16, grace uint16, at int64, behind int16) {
		if size == 0 || size > 2000 || advance == 0 || advance > size || at > Limit/2 || at < -Limit/2 {
			t.Skip()
		}
		s := Spec{Kind: Aligned, Size: int64(size), Advance: int64(advance), Offset: int64(offset), Grace: int64(grace)}
		checkAligned(t, s, at, at+int64(behind))
	})
}

// At the ends of int64 nothing wraps: spans hold the (clamped) time, starts rise, and watermarks still order.
func FuzzExtremes(f *testing.F) {
	for _, at := range []int64{math.MinInt64, -Limit, -Limit + 1, -1, 0, Limit, math.MaxInt64} {
		for _, size := range []int64{1, 1000, math.MaxInt64 / 1_000_000} { // the longest Duration in ms
			f.Add(at, size, size/3+1, size-7, size, at)
		}
	}
	f.Fuzz(func(t *testing.T, at, size, advance, offset, grace, watermark int64) {
		const most = math.MaxInt64 / 1_000_000
		if size < 1 || size > most || advance < 1 || advance > size || size/advance > 1000 ||
			offset < -most || offset > most || grace < 0 || grace > most {
			t.Skip()
		}
		s := Spec{Kind: Aligned, Size: size, Advance: advance, Offset: offset, Grace: grace}.Normal()
		all := s.Of(at)
		if all.N < 1 {
			t.Fatalf("no span for %d", at)
		}
		for i := range all.N {
			w := all.At(i)
			if !w.Contains(clamp(at)) || w.End-w.Start != size || s.Close(w) < w.End {
				t.Fatalf("%+v: span %d of %d is %v", s, i, at, w)
			}
		}
		open := s.Open(at, watermark)
		for i := range all.N {
			i = all.N - 1 - i // the open ones are the last ones
			isOpen := !Closed(s.Close(all.At(i)), watermark)
			if inRun := i >= all.N-open.N; inRun != isOpen {
				t.Fatalf("%+v: span %v of %d open at %d: %v, in the run: %v", s, all.At(i), at, watermark, isOpen, inRun)
			}
		}
		if s.Open(at, Never).N != 0 || s.Open(at, Ever).N != all.N {
			t.Fatal("an ended input closes everything, an unknown watermark nothing")
		}
	})
}

func TestUnlimited(t *testing.T) {
	s := Spec{Kind: Unlimited, Origin: 100}
	if s.Of(99).N != 0 {
		t.Error("a time before the origin has a span")
	}
	want := []Span{{100, Never}}
	if got := spans(s.Open(100, Limit)); !slices.Equal(got, want) {
		t.Errorf("Open = %v, want %v at any watermark of a running input", got, want)
	}
	if s.Open(100, Never).N != 0 {
		t.Error("the end of the input does not close an unlimited window")
	}
	if got := want[0].Last(); got != Limit {
		t.Errorf("Last = %d, want a valid time", got)
	}
}

func TestAssignerRemembersRightly(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	specs := []Spec{
		{Kind: Aligned, Size: 10, Advance: 10},
		{Kind: Aligned, Size: 10, Advance: 10, Offset: 3, Grace: 4},
		{Kind: Aligned, Size: 10, Advance: 3},
		{Kind: Aligned, Size: 10, Advance: 7, Offset: 1}, // runs of one and of two
		{Kind: Daily, Zone: zone(t, "America/New_York")},
		{Kind: Unlimited, Origin: 0},
	}
	for _, s := range specs {
		a := NewAssigner(s)
		for range 2000 {
			at := r.Int64N(100) - 50
			w := at + r.Int64N(60) - 30
			if got, want := a.Open(at, w), s.Open(at, w); got.N != want.N || got.N > 0 && got.First != want.First {
				t.Fatalf("%+v Open(%d, %d) = %v, want %v", s, at, w, got, want)
			}
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	a := NewAssigner(Spec{Kind: Daily, Zone: zone(t, "Europe/Berlin")})
	h := NewAssigner(Spec{Kind: Aligned, Size: 10_000, Advance: 2_000})
	p := h.Spec().Panes()
	j := Join{Before: 5, After: 7}
	at, sum := int64(0), int64(0)
	allocs := testing.AllocsPerRun(200, func() {
		at += 7 * 3600 * 1000
		for r, i := h.Open(at, at-3), 0; i < r.N; i++ {
			sum += r.At(i).End
		}
		sum += a.Open(at, 0).First.Start + p.Drop(p.Of(at)) + j.Close(Left, at)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per record, want 0", allocs)
	}
}

func BenchmarkOpen(b *testing.B) {
	for name, s := range map[string]Spec{
		"tumbling": {Kind: Aligned, Size: 10_000, Advance: 10_000},
		"hopping":  {Kind: Aligned, Size: 10_000, Advance: 2_000},
		"daily":    {Kind: Daily, Zone: zone(b, "Europe/Berlin")},
	} {
		b.Run(name, func(b *testing.B) {
			a, sum, at := NewAssigner(s), int64(0), int64(1_700_000_000_000)
			b.ReportAllocs()
			for b.Loop() {
				at++
				for r, i := a.Open(at, at-5000), 0; i < r.N; i++ {
					sum += r.At(i).Start
				}
			}
			sink = sum
		})
	}
	b.Run("daily without memory", func(b *testing.B) {
		s := Spec{Kind: Daily, Zone: zone(b, "Europe/Berlin")}
		for at := int64(1_700_000_000_000); b.Loop(); at++ {
			sink = s.Of(at).First.Start
		}
	})
}

var sink int64
