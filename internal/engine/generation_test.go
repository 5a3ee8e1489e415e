package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A turningSeat is a membership whose generation a test moves on.
type turningSeat struct {
	wire.Membership
	generation int32
	rejoins    int
}

func (t *turningSeat) Identity() wire.Identity {
	return wire.Identity{Group: "g", Member: "m", Generation: t.generation}
}

func (t *turningSeat) Rejoin() { t.rejoins++ }

func (t *turningSeat) Release([]wire.TopicPartition) {}

// refusing are transactions of a group that is at some generation.
type refusing struct {
	wire.Transactions
	generation int32
	asked      int
	refused    chan struct{}
}

func (r *refusing) Commit(_ context.Context, _ uint64, who wire.Identity, _ []wire.Position) error {
	r.asked++
	if who.Generation == r.generation {
		return nil
	}
	r.refused <- struct{}{}
	return wire.ErrGeneration
}

// TestRefusedCommitGoesWithTheNewGeneration: a commit that a round of the group refuses goes again when the new generation is heard of, at once and not before. A
// task that stays is silent for no longer.
func TestRefusedCommitGoesWithTheNewGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := &turningSeat{generation: 1}
		tx := &refusing{generation: 2, refused: make(chan struct{})}
		s := &seat{m: m, news: make(chan struct{}, 1)}
		l := &kafkaLog{s: &session{threaded: true}, seat: s, held: "m", tx: tx}
		done := make(chan error)
		go func() { done <- l.end(t.Context(), 1, nil) }()
		<-tx.refused
		synctest.Wait()
		s.take(wire.GroupEvent{Revoked: []wire.TopicPartition{{Topic: "t"}}}) // comes before the generation, and is none
		synctest.Wait()
		if tx.asked != 1 {
			t.Errorf("committed %d times before there was a new generation", tx.asked)
		}
		m.generation = 2
		s.take(wire.GroupEvent{Assigned: &wire.Assigned{Member: "m", Generation: 2}})
		if err := <-done; err != nil || tx.asked != 2 {
			t.Errorf("committed %d times: %v", tx.asked, err)
		}
		if d := time.Since(began); d != 0 { // by the test's clock, which goes on only when everybody waits
			t.Errorf("it waited for %v", d)
		}
	})
}

// losing is a cluster that has not answered the first plain commit of generation 1.
type losing struct {
	wire.Log
	asked int
}

func (l *losing) CommitPlain(context.Context, wire.Identity, []wire.Position) error {
	l.asked++
	return nil
}

func (l *losing) Unanswered(who wire.Identity) bool { return who.Generation == 1 }

// TestCommitFirstWaitsForTheRound: what was committed first, and might be moved back, is committed again in the next generation, before its records are processed.
func TestCommitFirstWaitsForTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := &turningSeat{generation: 1}, &losing{}
		s := &seat{m: m, news: make(chan struct{}, 1)}
		l := &kafkaLog{s: &session{threaded: true, app: &App{log: slog.New(slog.DiscardHandler)}, base: &base{log: log}}, seat: s, held: "m"}
		done := make(chan error, 1)
		go func() { done <- l.commitForGood(t.Context(), nil) }()
		synctest.Wait()
		if len(done) > 0 || log.asked != 1 || m.rejoins != 1 {
			t.Errorf("done %v after %d commits, %d rounds were asked for", len(done) > 0, log.asked, m.rejoins)
		}
		m.generation = 2
		s.take(wire.GroupEvent{Assigned: &wire.Assigned{Member: "m", Generation: 2}})
		if err := <-done; err != nil || log.asked != 2 || m.rejoins != 1 {
			t.Errorf("%v after %d commits, %d rounds were asked for", err, log.asked, m.rejoins)
		}
	})
}
