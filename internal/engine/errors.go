package engine

import (
	"errors"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// The errors that Run returns by name; package stream gives them the names of its own that users compare with.
var (
	ErrStopTimeout  = errors.New("stop timed out")
	ErrFenced       = errors.New("another instance took over")
	ErrStateDir     = errors.New("state directory is not usable")
	ErrTopic        = errors.New("a topic is missing or has the wrong settings")
	ErrCoPartition  = errors.New("inputs are not co-partitioned")
	ErrPositionLost = errors.New("a position was deleted by retention")
	ErrTopology     = errors.New("the topology does not match its state")
	ErrConfig       = errors.New("the configuration does not fit the cluster")
	ErrFormat       = errors.New("state is stored in another format")
)

// Recover makes an error after which the app begins anew from its last commit, instead of stopping.
func Recover(err error) error { return &errRecover{err} }

// Recoverable reports whether an error is one of Recover, or of the engine's own that it begins anew after.
func Recoverable(err error) bool {
	var r *errRecover
	return errors.As(err, &r)
}

// unreachable reports whether an error is of a cluster, or of what a sink writes to, that will be there again. What is lost is not.
func unreachable(err error) bool {
	return errors.Is(err, wire.ErrUnreachable) && !errors.Is(err, connector.ErrLost)
}

// errRecover wraps what a session cannot go on from, and a new one can: the way back is the way of a restart.
type errRecover struct{ err error }

func (e *errRecover) Error() string { return e.err.Error() }
func (e *errRecover) Unwrap() error { return e.err }
