package engine

import (
	"testing"
	"time"
)

// A transaction is as old as the barrier behind which its first record may lie: the one before that of the checkpoint under way, else the last one.
func TestTransactionThatOutlivesItsTimeout(t *testing.T) {
	s := &session{config: &Config{TransactionTimeout: 10 * time.Second}, commits: &recoverer{}, events: newQueue[event]()}
	s.runners = []*runner{{s: s, box: newQueue[message]()}}
	start := time.Now()
	s.cuts = [2]time.Time{start, start}
	if s.outlived(start.Add(9 * time.Second)) {
		t.Error("a transaction of nine seconds is said to have outlived ten")
	}
	if !s.outlived(start.Add(10 * time.Second)) {
		t.Error("a transaction of ten seconds is not said to have outlived them")
	}
	s.cuts[0] = start.Add(-9 * time.Second)
	s.begin()
	if s.cuts[1] != start.Add(-9*time.Second) {
		t.Fatalf("the barrier before the last was at %v", s.cuts[1])
	}
	if !s.outlived(time.Now().Add(time.Second)) {
		t.Error("the transaction of a checkpoint under way is not as old as the barrier before it")
	}
	s.inflight = nil // committed
	if s.outlived(time.Now().Add(time.Second)) {
		t.Error("a transaction that was committed is held to be open")
	}
}
