// Package engine runs compiled topologies: it owns the goroutines, reads inputs, moves batches between tasks, cuts checkpoints
// with barriers, commits them, and recovers. What a record means is the business of package stream; what happens inside a
// task is that of internal/task.
//
// There is one way to come back from anything that went wrong: drop every task, read what the last commit says, and start
// from there (session). A restart after a crash takes the same way.
package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// A Plan is a compiled topology.
type Plan struct {
	App  string
	Subs []*Sub // upstream first
	// Globals are loaded before any task starts.
	Globals []*Global
}

// A Sub is a sub-topology.
type Sub struct {
	Name    string
	Sources []*Source // in the order of the task's inputs; exchanges follow them
	In      []*Exchange
	Out     []*Exchange
	Stores  []Store
	// Outboxes are the nodes whose sinks are on another cluster than the app's: what they write goes there by way of a topic.
	Outboxes []string
	// New makes one task. Errors are those of opening sinks and binding state: of infrastructure unless they are named ones.
	New func(env *TaskEnv) (*task.Task, error)
}

// local reports whether an exchange is in process.
func (c *Config) local(x *Exchange) bool { return c.Local && !x.Remote }

// Stateful reports whether tasks have something to restore.
func (s *Sub) Stateful() bool { return len(s.Stores) > 0 }

// A Source is an input from outside, with its types hidden.
type Source struct {
	Name       string
	Input      int // among the task's inputs
	Partitions func(ctx context.Context, env connector.Env) (int, error)
	Open       func(ctx context.Context, env connector.Env, partition int, from connector.Position) (task.Reader, error)
	Positions  wire.Positions // nil when its positions cannot be committed to a group
	// Topics describes the topics it reads, on whatever cluster they are. It may know none.
	Topics  func(ctx context.Context, env connector.Env) (map[string]wire.Topic, error)
	Headers bool // something behind it looks at headers
}

// An Exchange carries records from one sub-topology to another, or to itself.
type Exchange struct {
	Name       string
	Input      int // among the receiving task's inputs
	From, To   *Sub
	Partitions int // asked for; 0: as upstream
	// Remote says that the exchange goes through the cluster even where others are local: it leads back to a sub-topology that it
	// comes from, and barriers cannot be aligned on a circle.
	Remote bool
	// Open reads one partition of the exchange's topic, when it goes through Kafka.
	Open func(ctx context.Context, env connector.Env, topic string, partition int, from connector.Position) (task.Reader, error)
}

// A Store is one store of a sub-topology.
type Store struct {
	Name      string
	Changelog bool
	// Source is what the store is restored from instead of a changelog: a source whose topic has its rows. nil: it has none.
	Source *Source
	// Rows are what a batch of Source makes of the store, as far as records are before an offset. row is nil for a deletion; key and row are
	// valid during the call.
	Rows func(b task.Batch, before int64, put func(key, row []byte)) error
}

// outlives reports whether the store's state outlives a disk: some topic has it.
func (st Store) outlives() bool { return st.Changelog || st.Source != nil }

// A Config is stream.Config without types, with defaults applied.
type Config struct {
	Cluster             connector.Cluster
	State               state.Backend
	StateDir            string
	Instance            string
	Advertise           string // where other processes reach the queries of this one
	Guarantee           Guarantee
	CheckpointInterval  time.Duration
	MaxTaskPause        time.Duration
	MaxPartitionCommits int
	TransactionTimeout  time.Duration
	SessionTimeout      time.Duration
	StopTimeout         time.Duration
	DropState           []string // stores whose state is given up
	Workers             int
	OutboxRecords       int64 // of an outbox's partition that may wait for their cluster
	MemoryBytes         int64
	Rack                string // where this process runs
	Standbys            int    // copies of each task's state with other processes
	MoveLag             int64  // records that a copy may lack for its task to move to it
	// What restores and standbys read of changelogs. Restores: 0 is no limit.
	RestoreBytesPerSecond, StandbyBytesPerSecond int64
	Local                                        bool          // the exchange between sub-topologies is in process
	OnRestore                                    func(Restore) // nil: nobody listens
	Logger                                       *slog.Logger
	Counter                                      func(name string, labels ...string) func(delta int64)
	Gauge                                        func(name string, labels ...string) func(value float64) // nil: nobody measures
	Histogram                                    func(name string, labels ...string) func(value float64) // nil: gauges show the longest
	Measures                                     func() map[string]int64                                 // of the schema registry; nil without one
	Now                                          func() time.Time                                        // the wall clock of an app without a cluster. Default time.Now
}

func (c *Config) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// Guarantee is stream.Guarantee.
type Guarantee int

// In the order of stream's.
const (
	ExactlyOnce Guarantee = iota
	AtLeastOnce
	AtMostOnce
)

// A TaskEnv is what a task is made with.
type TaskEnv struct {
	Context   context.Context // ends with the task
	Task      connector.Task
	Connector connector.Env
	Appender  wire.Appender // of the commit log: changelogs, and repartition topics and sinks unless SinkAppender is set; nil without a cluster
	// SinkAppender is where sinks and repartition topics write under AtLeastOnce: outside of the transaction.
	SinkAppender wire.Appender
	DB           state.DB
	Prefix       func(store string) []byte // of a store's keys in DB
	FormatKey    func(store string) []byte // of the record of a store's format
	StateBytes   int64                     // what the stores of this task may hold in memory

	// Send hands a batch to the task that owns a partition of a local exchange. Targets is how many partitions that has, Senders
	// how many tasks send to it, Pending how many bytes wait at the fullest one.
	Send    func(exchange string, partition int, b task.Batch)
	Targets func(exchange string) int
	Senders func(exchange string) int
	Pending func(exchange string) int64

	// Topic is the name of an exchange's topic when it goes through Kafka, "" when it is local.
	Topic func(exchange string) string

	// Outbox leads a sink on another cluster, which env names, to its node's outbox. An env with a Log is connected already.
	Outbox func(node string, env connector.Env) (connector.Env, error)

	// Recovered are the handles that a two-phase sink prepared and that may not have been committed.
	Recovered func(sink string) []connector.Handle

	// KeyedBy is by how many partitions the keys of a source's topics were spread; 0: not known.
	KeyedBy func(source string) int
	// Warn tells people once what was noticed about something; args are those of slog.
	Warn func(about, text string, args ...any)

	// Async makes a call in a goroutine that ends with the task, and runs what it returns between two records.
	Async func(call func(ctx context.Context) (done func()))

	Count func(name string, labels ...string) func(delta int64)
	Now   func() int64 // the wall clock, in ms

	Instance any // set by New: what the maker needs for queries
}

// String names the guarantee.
func (g Guarantee) String() string {
	return [...]string{"exactly-once", "at-least-once", "at-most-once"}[g]
}
