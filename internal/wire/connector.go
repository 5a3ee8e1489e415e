package wire

import "context"

// InLog is implemented by sinks whose records go into the commit log's own transaction when their cluster is the app's.
type InLog interface {
	// OnCluster is the cluster the sink names, or nil for the app's own.
	OnCluster() any
}

// TopicOffset is a place in a topic's partition.
type TopicOffset struct {
	Topic  string
	Offset int64
}

// Positions is implemented by sources whose positions can be committed to the group; any other's are in the task record only.
type Positions interface {
	// OnCluster is the cluster the source names, or nil for the app's own.
	OnCluster() any
	// Topics are the topics it reads: now, if it reads those that match a pattern.
	Topics(ctx context.Context, l Log) ([]string, error)
	// Offsets takes a position of a partition apart; Position puts it together again.
	Offsets(partition int, position string) []TopicOffset
	Position(partition int, offsets []TopicOffset) string
}

// Losing is implemented by sources that say where they go on when what they were to read next is gone.
type Losing interface {
	// WhenLost is the place, or false when that is to stop the app.
	WhenLost() (Where, bool)
}
