package engine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A brokerSeat is a membership whose group answers what a test says.
type brokerSeat struct {
	wire.Membership
	events  chan wire.GroupEvent
	answers []wire.GroupEvent // one to each Rejoin
	rejoins int
}

func (b *brokerSeat) Events() <-chan wire.GroupEvent { return b.events }
func (b *brokerSeat) Err() error                     { return nil }
func (b *brokerSeat) Rejoin() {
	b.rejoins++
	if len(b.answers) > 0 {
		b.events <- b.answers[0]
		b.answers = b.answers[1:]
	}
}

// TestSeatSettles: what was planned for another disk, for another topology, or had something to give up is asked about, once. What an older leader planned does
// not say, and is taken.
func TestSeatSettles(t *testing.T) {
	w := &warmth{disk: "d", refs: refsOf(2, "s")}
	mine := w.tell(memberData{}).Mark
	other := (&warmth{disk: "e", refs: w.refs}).tell(memberData{}).Mark
	grown := (&warmth{disk: "d", refs: refsOf(3, "s")}).tell(memberData{}).Mark
	answer := func(generation int32, d memberData) wire.GroupEvent {
		return wire.GroupEvent{Assigned: &wire.Assigned{Member: "m", Generation: generation, Assignment: wire.Assignment{UserData: d.encode()}}}
	}
	for name, c := range map[string]struct {
		first   memberData
		answers []wire.GroupEvent
		rejoins int
		takes   int32
	}{
		"the same":          {memberData{Version: memberVersion, Mark: mine}, nil, 0, 1},
		"an older leader":   {memberData{Version: stateVersion}, nil, 0, 1},
		"another disk":      {memberData{Version: memberVersion, Mark: other}, []wire.GroupEvent{answer(2, memberData{Version: memberVersion, Mark: mine})}, 1, 2},
		"another topology":  {memberData{Version: memberVersion, Mark: grown}, []wire.GroupEvent{answer(2, memberData{Version: memberVersion, Mark: mine})}, 1, 2},
		"not over":          {memberData{Version: memberVersion, Mark: mine, Gives: true}, []wire.GroupEvent{answer(2, memberData{Version: memberVersion, Mark: mine})}, 1, 2},
		"old again":         {memberData{Version: memberVersion, Mark: other}, []wire.GroupEvent{answer(2, memberData{Version: memberVersion, Mark: other})}, 1, 2},
		"the leader is new": {memberData{Version: memberVersion, Mark: other}, []wire.GroupEvent{answer(2, memberData{Version: stateVersion})}, 1, 2},
		"no answer":         {memberData{Version: memberVersion, Mark: other}, nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &brokerSeat{events: make(chan wire.GroupEvent, 2), answers: c.answers}
			s := &seat{m: b, news: make(chan struct{}, 1), done: make(chan struct{})}
			b.events <- answer(1, c.first)
			ses := &session{app: &App{log: slog.New(slog.DiscardHandler)}, config: &Config{SessionTimeout: time.Second}}
			if err := s.settle(t.Context(), ses, w.outdates); err != nil {
				t.Fatal(err)
			}
			a, err := s.assigned(t.Context(), ses)
			if err != nil || a.Generation != c.takes || b.rejoins != c.rejoins {
				t.Errorf("it takes %+v after asking for %d rounds (%v), want that of generation %d after %d", a, b.rejoins, err, c.takes, c.rejoins)
			}
		})
	}
}
