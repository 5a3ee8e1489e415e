package span

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 200_000 {
		before := r.Int64N(21) - 10
		j := Join{Before: before, After: -before + r.Int64N(20), Grace: r.Int64N(4)}
		left, right, watermark := r.Int64N(60)-30, r.Int64N(60)-30, r.Int64N(80)-40
		match := left-j.Before <= right && right <= left+j.After
		if got := j.Matches(Left, left).Contains(right); got != match {
			t.Fatalf("%+v: left %d matches right %d: %v, want %v", j, left, right, got, match)
		}
		if got := j.Matches(Right, right).Contains(left); got != match {
			t.Fatalf("%+v: right %d matches left %d: %v, want %v", j, right, left, got, match)
		}
		// Never a false "unmatched": whoever matches and is on time finds the other still waiting.
		if match && !j.Late(right, watermark) && Closed(j.Close(Left, left), watermark) {
			t.Fatalf("%+v at %d: left %d has closed, and right %d may still come", j, watermark, left, right)
		}
		if match && !j.Late(left, watermark) && Closed(j.Close(Right, right), watermark) {
			t.Fatalf("%+v at %d: right %d has closed, and left %d may still come", j, watermark, right, left)
		}
	}
}

func TestJoinClosesAsSoonAsItCan(t *testing.T) {
	j := Join{Before: 3, After: 7, Grace: 2}
	w := j.Close(Left, 100) - 1
	if last := int64(107); j.Late(last, w) || !j.Late(last, w+1) {
		t.Errorf("a left record at 100 closes at %d, the last match becomes late elsewhere", w+1)
	}
	if j.Late(50, 50) {
		t.Error("a record at the watermark is late")
	}
	if got := j.Close(Right, math.MaxInt64); got < Limit {
		t.Errorf("Close wraps to %d", got)
	}
	if Left.Other() != Right || Right.Other() != Left {
		t.Error("Other")
	}
}
