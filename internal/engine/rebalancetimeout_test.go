package engine

import (
	"testing"
	"time"
)

// A member that is as slow as its tasks may be keeps its seat.
func TestRebalanceTimeoutFollowsTheLongestPause(t *testing.T) {
	for _, c := range []struct{ pause, session, want time.Duration }{
		{30 * time.Second, 10 * time.Second, time.Minute},
		{5 * time.Minute, 10 * time.Second, 10 * time.Minute},
		{time.Second, 45 * time.Second, 45 * time.Second},
		{time.Second, 3 * time.Second, 10 * time.Second},
	} {
		if got := rebalanceTimeout(&Config{MaxTaskPause: c.pause, SessionTimeout: c.session}); got != c.want {
			t.Errorf("pause %v, session %v: %v, want %v", c.pause, c.session, got, c.want)
		}
	}
}
