package wire

import (
	"context"
	"time"
)

// GroupConfig says how to be a member. The functions are called by the membership's goroutines, one at a time.
type GroupConfig struct {
	Group            string
	Instance         string // static membership; "" for a dynamic member
	Topics           []string
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	// UserData is asked before each join: what this member holds and whatever else the leader should know.
	UserData func() []byte
	// Plan is asked of the leader. It never fails: problems travel in user data. A partition may be given to a member only when no
	// other member owns it any more; the membership withholds one that still has an owner and asks for another round.
	Plan func(members []Member) map[string]Assignment
}

// A Member is one of a group, as the leader sees it.
type Member struct {
	ID       string
	Instance string
	Topics   []string
	Owned    []TopicPartition // what it held when it joined
	UserData []byte
}

// An Assignment is what a member gets.
type Assignment struct {
	Partitions []TopicPartition
	UserData   []byte
}

// A Membership is a seat in a group. The assignment changes cooperatively: what is not mentioned in a change runs on. A static member that comes
// back to a group that is calm gets what it had, user data and all, and no round is held.
type Membership interface {
	// Events yields changes in order. It must be read promptly. It is closed when the membership has ended; Err says why.
	Events() <-chan GroupEvent
	// Release reports that revoked partitions are given up. The rebalance goes on when all of a revocation are released.
	Release(p []TopicPartition)
	// Identity is who this member is now. It changes with every generation: read it at the moment of sending.
	Identity() Identity
	// Rejoin asks for a new round, because UserData has changed or Plan would decide otherwise.
	Rejoin()
	// Leave gives the seat up and waits until the group knows, or with stay keeps it for a restart within the session timeout.
	Leave(ctx context.Context, stay bool) error
	Err() error
}

// A GroupEvent is a change of a membership. Exactly one field is set.
type GroupEvent struct {
	Assigned *Assigned
	Revoked  []TopicPartition // stop, finish and Release them
	Lost     error            // the seat is gone, with everything that was held: nothing can be committed. The membership joins anew by itself
}

// Assigned is the outcome of a round: all that this member holds now.
type Assigned struct {
	Member     string // whose it is: what another one commits for it is not of this assignment, even when it is the same process
	Generation int32
	Leader     bool
	Assignment
	Added []TopicPartition // of Partitions, those it did not hold before
}
