package streamtest

import (
	"time"

	"github.com/weirstream/weir/stream"
)

// An Option changes a Driver.
type Option interface{ apply(o *options) }

type option func(o *options)

func (f option) apply(o *options) { f(o) }

// options is what they change.
type options struct {
	partitions int
	start      time.Time
	manual     bool
	config     []func(c *stream.Config)
}

func defaults() options {
	return options{partitions: 1, start: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Partitions sets the partitions of every topic. Default 1.
func Partitions(n int) Option { return option(func(o *options) { o.partitions = n }) }

// StartAt sets the wall clock. Default 2000-01-01 00:00 UTC.
func StartAt(t time.Time) Option { return option(func(o *options) { o.start = t }) }

// Config changes the configuration before it is used. Before that it has State in memory, the Local exchange, a schema registry in
// memory and a Logger that discards. A Cluster set here is stood in for by one in memory.
func Config(f func(c *stream.Config)) Option {
	return option(func(o *options) { o.config = append(o.config, f) })
}

// ManualCheckpoints takes checkpoints only when Checkpoint is called, so that what is not yet committed can be tested.
// Default: Out.Read takes one before it reads.
func ManualCheckpoints() Option { return option(func(o *options) { o.manual = true }) }
