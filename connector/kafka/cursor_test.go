package kafka

import (
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// That a partition has nothing more is the leader's word. While the leader is not heard nobody says so: else others would stop waiting for it,
// and what was written meanwhile would come late.
func TestEndOfAPartitionWhoseLeaderIsNotHeard(t *testing.T) {
	c := &cursor{reads: &reads{}, at: wire.TopicPartition{Topic: "in"}, news: make(chan struct{}, 1), next: 7, high: -1, stable: -1}
	says := func(high int64, ago time.Duration) bool {
		c.tookLocked(&block{known: true, high: high, stable: high}, unpacked{})
		c.heard = c.heard.Add(-ago)
		return stateOf(c.state(true)).AtEnd
	}
	if !says(7, 0) {
		t.Error("the end is not known right after the answer")
	}
	if says(7, 2*heardWithin) {
		t.Error("the end is known of a leader that is not heard")
	}
	if !says(7, 0) {
		t.Error("the end is not known after the leader came back")
	}
	if says(9, 2*heardWithin) || c.state(true).High != 9 {
		t.Error("that there is more is forgotten")
	}
}
