package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// A Config says where and how a topology runs. Every field has a default but those marked.
type Config struct {
	Cluster   connector.Cluster // &kafka.Cluster{…}; nil runs everything in this process
	Registry  serde.Registry    // registry.New(…)
	State     state.Backend     // required with stateful operators: pebblestore.New(…) or state.InMemory()
	StateDir  string            // required with a Backend on disk; the app uses StateDir/<name>, under a lock
	Instance  string            // default: made once and kept in StateDir
	Advertise string            // address at which other processes reach this one's views

	Guarantee           Guarantee     // default ExactlyOnce
	CheckpointInterval  time.Duration // default 200 ms
	WatermarkInterval   time.Duration // how often watermarks cross repartition topics. Default 1 s
	Exchange            Exchange      // default Auto
	MaxTaskPause        time.Duration // a task that passes no barrier for longer is given up and named. Default 30 s
	MaxPartitionCommits int           // partitions touched by commits per second, per process; beyond it the interval stretches. Default 2,000
	TransactionTimeout  time.Duration // default 1 min; must exceed two intervals and MaxTaskPause
	SessionTimeout      time.Duration // how long a lost process keeps its tasks. Default 45 s
	Workers             int           // goroutines that run tasks. Default GOMAXPROCS
	Standbys            int           // copies of each task's state that other processes keep. Default 0
	Rack                string        // where this process runs (a rack, a zone): standbys go to others. Default not known
	MoveLag             int64         // records of changelog that a process may lack for a task to move to it. Default 10,000
	OutboxRecords       int64         // what may wait for a second cluster, per task, before the task stops reading. Default 1,000,000
	MemoryBytes         int64         // for overlays, caches and fetched records of this app. Default 512 MiB

	// Bytes of changelogs that a process reads per second. Standbys, and processes that tasks are about to move to, must not take from the
	// tasks that run: default 32 MiB. Tasks that wait for their state get what there is: default no limit.
	StandbyBytesPerSecond int64
	RestoreBytesPerSecond int64

	OnError     Policy        // default Fail
	StopTimeout time.Duration // for the last checkpoint after Run's context ends. Default 10 s
	DropState   []string      // stores that the app's state has and the topology has no more, given up on purpose; else they are ErrTopology

	// OnRestore is told when the restore of a task's state begins, each second while it goes on, and when it ends. It is called by the
	// goroutines that restore, for several tasks at once, and must return soon. Default none.
	OnRestore func(Restore)

	Logger  *slog.Logger // default slog.Default()
	Metrics Metrics      // default none
}

// Metrics receives measurements: it makes a counter or a gauge, whose labels are names and values in turn, and weir calls what it got with
// each change. A client of Prometheus or OpenTelemetry is adapted in a few lines; see the example. Whatever it returns is called
// from several goroutines.
type Metrics interface {
	Counter(name string, labels ...string) func(delta int64)
	Gauge(name string, labels ...string) func(value float64)
}

// Histograms is what Metrics may implement besides. It is then given each checkpoint's weir_checkpoint_seconds, from the barrier to the
// commit, and each task's weir_task_stall_seconds, from the barrier's arrival at the task to the moment at which it takes input again.
// Without it gauges of these names show the longest of each second.
type Histograms interface {
	Histogram(name string, labels ...string) func(value float64)
}

// Guarantee is how often a record takes effect.
type Guarantee int

// The guarantees.
const (
	ExactlyOnce Guarantee = iota
	AtLeastOnce
	AtMostOnce
)

// String names the guarantee.
func (g Guarantee) String() string {
	switch g {
	case ExactlyOnce:
		return "exactly-once"
	case AtLeastOnce:
		return "at-least-once"
	case AtMostOnce:
		return "at-most-once"
	}
	return fmt.Sprintf("Guarantee(%d)", int(g))
}

// An Exchange moves records between sub-topologies.
type Exchange int

// Auto is Kafka with a Cluster, else Local. Local keeps everything in one process.
const (
	Auto Exchange = iota
	Kafka
	Local
)

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	or(&c.CheckpointInterval, 200*time.Millisecond)
	or(&c.WatermarkInterval, time.Second)
	or(&c.MaxTaskPause, 30*time.Second)
	or(&c.MaxPartitionCommits, 2000)
	or(&c.TransactionTimeout, time.Minute)
	or(&c.SessionTimeout, 45*time.Second)
	or(&c.Workers, runtime.GOMAXPROCS(0))
	or(&c.OutboxRecords, 1_000_000)
	or(&c.MemoryBytes, 512<<20)
	or(&c.MoveLag, 10_000)
	or(&c.StandbyBytesPerSecond, 32<<20)
	or(&c.StopTimeout, 10*time.Second)
	or(&c.Logger, slog.Default())
	if c.OnError == nil {
		c.OnError = Fail
	}
	return c
}

// or sets a value that is zero.
func or[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Validate reports all problems together.
func (c *Config) Validate() error {
	var problems []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("config: "+format, args...))
		}
	}
	wrong(c.Guarantee < ExactlyOnce || c.Guarantee > AtMostOnce, "Guarantee %d does not exist", c.Guarantee)
	wrong(c.Exchange < Auto || c.Exchange > Local, "Exchange %d does not exist", c.Exchange)
	wrong(c.Exchange == Kafka && c.Cluster == nil, "Exchange is Kafka, and Cluster is not set")
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"CheckpointInterval", c.CheckpointInterval}, {"WatermarkInterval", c.WatermarkInterval}, {"MaxTaskPause", c.MaxTaskPause},
		{"TransactionTimeout", c.TransactionTimeout}, {"SessionTimeout", c.SessionTimeout}, {"StopTimeout", c.StopTimeout},
	} {
		wrong(d.d < 0, "%s %v is negative", d.name, d.d)
	}
	wrong(c.Workers < 0, "Workers %d is negative", c.Workers)
	wrong(c.Standbys < 0, "Standbys %d is negative", c.Standbys)
	for _, n := range []struct {
		name string
		n    int64
	}{
		{"MemoryBytes", c.MemoryBytes}, {"MoveLag", c.MoveLag}, {"OutboxRecords", c.OutboxRecords}, {"StandbyBytesPerSecond", c.StandbyBytesPerSecond}, {"RestoreBytesPerSecond", c.RestoreBytesPerSecond},
	} {
		wrong(n.n < 0, "%s %d is negative", n.name, n.n)
	}
	d := c.withDefaults()
	wrong(d.TransactionTimeout <= 2*d.CheckpointInterval+d.MaxTaskPause,
		"TransactionTimeout %v must exceed two CheckpointIntervals (%v) and MaxTaskPause (%v) together, or a slow task loses its transaction",
		d.TransactionTimeout, d.CheckpointInterval, d.MaxTaskPause)
	wrong(c.Instance != "" && !validName.MatchString(c.Instance), "Instance %q: must be letters, digits, '.', '_' and '-'", c.Instance)
	return errors.Join(problems...)
}
