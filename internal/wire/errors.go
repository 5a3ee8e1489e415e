package wire

import "errors"

// The errors that mean more than "wait and try again".
var (
	// ErrNoTopic: the topic does not exist.
	ErrNoTopic = errors.New("topic does not exist")
	// ErrOffsetGone: the offset is outside of the partition, deleted by retention or beyond its end.
	ErrOffsetGone = errors.New("offset is out of range")
	// ErrFenced: another process took over the transactional id or the instance id.
	ErrFenced = errors.New("fenced by another process")
	// ErrGeneration: the group has moved on to another generation.
	ErrGeneration = errors.New("not the group's current generation")
	// ErrUnknownOutcome: a commit may or may not have happened.
	ErrUnknownOutcome = errors.New("the outcome of a commit is not known")
	// ErrUnreachable: a broker, or what a sink writes to, cannot be reached, and for the moment nobody stands in for it. Trying again later helps.
	ErrUnreachable = errors.New("cannot be reached for the moment")
	// ErrRefused: the cluster refuses for good (authorization, invalid configuration). Trying again cannot help.
	ErrRefused = errors.New("refused by the cluster")
)
