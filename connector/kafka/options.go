package kafka

import (
	"regexp"
	"time"
)

// A SourceOption changes how a topic is read.
type SourceOption interface{ source(*reading) }

// A SinkOption changes how a topic is written.
type SinkOption interface{ sink(*writing) }

// Option fits sources and sinks.
type Option interface {
	SourceOption
	SinkOption
}

// reading is what a source's options say.
type reading struct {
	cluster *Cluster
	topics  []string // the first is the source's own
	pattern *regexp.Regexp
	start   Start
	offsets map[int32]int64
	time    time.Time
	lost    LostPolicy
}

// writing is what a sink's options say.
type writing struct {
	cluster     *Cluster
	partitions  int
	replication int
}

type (
	sourceOption func(*reading)
	sinkOption   func(*writing)
	onCluster    struct{ *Cluster }
)

func (o sourceOption) source(r *reading) { o(r) }
func (o sinkOption) sink(w *writing)     { o(w) }
func (o onCluster) source(r *reading)    { r.cluster = o.Cluster }
func (o onCluster) sink(w *writing)      { w.cluster = o.Cluster }

// On uses another cluster than the app's. A sink on another cluster is fed from an outbox topic by a relay, exactly once.
// Default: the app's Config.Cluster.
func On(c *Cluster) Option { return onCluster{c} }

// Topics reads more topics of the same form. Partition p of the source is partition p of each of them, merged by time.
func Topics(names ...string) SourceOption {
	return sourceOption(func(r *reading) { r.topics = append(r.topics, names...) })
}

// TopicPattern reads every topic whose whole name matches, also those made later: open partitions look every 30 seconds. The
// source's own topic is read if it matches; its name stays the source's name.
func TopicPattern(re *regexp.Regexp) SourceOption {
	return sourceOption(func(r *reading) { r.pattern = re })
}

// StartAt says where to read when nothing is committed. Default Earliest.
func StartAt(s Start) SourceOption { return sourceOption(func(r *reading) { r.start = s }) }

// StartAtOffsets is StartAt by partition; partitions that are not named start at the earliest.
func StartAtOffsets(offsets map[int32]int64) SourceOption {
	return sourceOption(func(r *reading) { r.start, r.offsets = atOffsets, offsets })
}

// StartAtTime is StartAt by the time of records: the first that is not earlier than t.
func StartAtTime(t time.Time) SourceOption {
	return sourceOption(func(r *reading) { r.start, r.time = atTime, t })
}

// OnPositionLost says what to do when the committed position is gone: retention has deleted it, or the topic was deleted and made
// anew. Default FailWhenLost.
func OnPositionLost(p LostPolicy) SourceOption { return sourceOption(func(r *reading) { r.lost = p }) }

// Create makes missing topics of a sink. Replication 0 is the cluster's default. Default: a missing topic is an error at start.
func Create(partitions, replication int) SinkOption {
	return sinkOption(func(w *writing) { w.partitions, w.replication = partitions, replication })
}

// Start is where to read when nothing is committed.
type Start int

// Default Earliest.
const (
	Earliest Start = iota
	Latest
	atOffsets
	atTime
)

// LostPolicy says what to do when the committed position is gone. Whatever it is, the loss is logged with the
// partition, the position and how many offsets are gone.
type LostPolicy int

// Default FailWhenLost.
const (
	FailWhenLost LostPolicy = iota // stop with an error: state and outputs would miss what was deleted
	GoOnEarliest                   // read on at the first record there is
	GoOnLatest                     // read on at the end
)
