package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/serde"
)

// A joinKey is what formats of the keys of a join's buffers say: which records matched when they were written. It gives the length of
// stretches, in which rows lie, and what the buffers still have: a record that could have no match by one reach is gone, and another reach would call
// what it matches unmatched. The grace is left out, as it is of windows: what is on time by another one finds what is there.
type joinKey struct {
	anyFormat
	join span.Join
}

const joinFormat = "join/2 "

func (k joinKey) Format() string {
	return fmt.Sprintf("%s%d %d %s", joinFormat, k.join.Before, k.join.After, k.anyFormat.Format())
}

// Accepts refuses every other format, and says which reach is stored where that is what differs.
func (k joinKey) Accepts(stored string) error {
	var before, after int64
	rest, ok := strings.CutPrefix(stored, joinFormat)
	if _, err := fmt.Sscanf(rest, "%d %d ", &before, &after); !ok || err != nil {
		return fmt.Errorf("%w: %q is no format of a join's buffers, which begin with %q", serde.ErrIncompatible, stored, joinFormat)
	}
	if before == k.join.Before && after == k.join.After {
		return fmt.Errorf("%w: the keys have another serde; go back to the old one, or name the join anew and give the old buffers up with Config.DropState", serde.ErrIncompatible)
	}
	return fmt.Errorf("%w: the buffers hold what a join needs that matches from %v before to %v after; go back to that window, or name the join anew and "+
		"give the old buffers up with Config.DropState", serde.ErrIncompatible, time.Duration(before)*time.Millisecond, time.Duration(after)*time.Millisecond)
}
