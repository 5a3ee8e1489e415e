package engine

import (
	"testing"
	"time"
)

// TestPaceKeepsTheRate: whoever waits as told reads at the rate, after what may be taken at once, and unused time is not saved up.
func TestPaceKeepsTheRate(t *testing.T) {
	p := &pace{perSecond: 1000}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, took := start, 0
	for now.Before(start.Add(10 * time.Second)) {
		now = now.Add(p.take(now, 100))
		took += 100
	}
	if took < 10_000 || took > 10_400 {
		t.Errorf("%d bytes in 10 s, at 1,000 a second", took)
	}
	now = now.Add(time.Hour)
	if d := p.take(now, 2000); d < time.Second {
		t.Errorf("after an hour of rest 2,000 bytes wait for %v", d)
	}
	if d := (&pace{}).take(now, 1<<40); d != 0 {
		t.Errorf("without a limit: %v", d)
	}
}
