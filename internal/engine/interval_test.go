package engine

import (
	"testing"
	"time"
)

// TestIntervalStretches: commits do not touch more partitions in a second than the cluster is to bear.
func TestIntervalStretches(t *testing.T) {
	for _, c := range []struct {
		most, touched int
		want          time.Duration
	}{
		{2000, 10, 100 * time.Millisecond}, {2000, 1000, 500 * time.Millisecond}, {2000, 10_000, 5 * time.Second}, {0, 10_000, 100 * time.Millisecond},
	} {
		l := &kafkaLog{s: &session{config: &Config{MaxPartitionCommits: c.most}}}
		l.touched.Store(int64(c.touched))
		if got := l.interval(100 * time.Millisecond); got != c.want {
			t.Errorf("%d partitions touched, %d a second allowed: %v, want %v", c.touched, c.most, got, c.want)
		}
	}
}
