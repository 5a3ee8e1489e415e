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
		return stateOf(known(t, c)).AtEnd
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
	if says(9, 2*heardWithin) || known(t, c).High != 9 {
		t.Error("that there is more is forgotten")
	}
}

func known(t *testing.T, c *cursor) *wire.Batch {
	t.Helper()
	b, err := c.poll(true)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A reader that has waited long enough is told where it stands. When a batch comes at that moment, it stands before the batch: its position, and the
// place that a restore has reached, would else be behind records that nobody has seen.
func TestBatchThatComesAsTheWaitEnds(t *testing.T) {
	c := &cursor{reads: &reads{}, at: wire.TopicPartition{Topic: "changelog"}, news: make(chan struct{}, 1), next: 7, high: -1, stable: -1}
	c.tookLocked(&block{known: true, high: 9, stable: 9}, unpacked{batch: &wire.Batch{Records: []wire.Record{{Offset: 7}, {Offset: 8}}, Next: 9, Free: func() {}}})
	if b := known(t, c); len(b.Records) != 2 || b.Next != 9 {
		t.Errorf("who has waited is told that it stands at %d and sees %d records, want 9 and 2", b.Next, len(b.Records))
	}
	if b := known(t, c); len(b.Records) != 0 || b.Next != 9 {
		t.Errorf("then it is told that it stands at %d and sees %d records, want 9 and none", b.Next, len(b.Records))
	}
}
