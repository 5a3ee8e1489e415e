package streamtest

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// A world is what is outside of an app and outlives it: the clusters, in memory and on one clock.
type world struct {
	how   options
	main  *memory.Cluster // Config.Cluster
	named connector.Cluster
	other map[any]*memory.Cluster // by what On names
}

func newWorld(how options) *world {
	w := &world{how: how, other: map[any]*memory.Cluster{}}
	w.main = w.cluster(how.start)
	return w
}

// cluster makes one whose topics take records of any time: virtual time may be far from that of the data.
func (w *world) cluster(now time.Time) *memory.Cluster {
	const never = 1<<63 - 1
	return &memory.Cluster{
		Start: now, AutoCreate: w.how.partitions, Poison: true,
		Configs: map[string]string{"message.timestamp.after.max.ms": strconv.Itoa(never), "retention.ms": "-1"},
	}
}

// on is the stand-in of the cluster that a topic names.
func (w *world) on(cluster any) *memory.Cluster {
	if cluster == nil || cluster == any(w.named) {
		return w.main
	}
	c := w.other[cluster]
	if c == nil {
		c = w.cluster(w.main.Now())
		w.other[cluster] = c
	}
	return c
}

func (w *world) advance(by time.Duration) {
	for _, c := range w.all() {
		c.Advance(by)
	}
}

// adopt makes the topics of a source or sink, and leads it to the stand-in of its cluster.
func (w *world) adopt(e *stream.End) error {
	on, ok := isTopic(e)
	if !ok {
		return nil
	}
	c := w.on(on)
	log, err := c.Connect(context.Background(), "streamtest")
	if err != nil {
		return err
	}
	var specs []wire.TopicSpec
	for _, name := range w.topics(e) {
		specs = append(specs, wire.TopicSpec{Name: name, Partitions: int32(w.how.partitions)})
	}
	if err := log.Create(context.Background(), specs...); err != nil {
		return errors.Join(err, log.Close())
	}
	if on == nil {
		return log.Close()
	}
	e.Redirect(func(env connector.Env) connector.Env {
		env.Cluster, env.Log = on.(connector.Cluster), log // what a connector finds when it is on the app's own cluster
		return env
	})
	return nil
}

// isTopic reports whether a source or sink is of a cluster, and of which: nil is the app's.
func isTopic(e *stream.End) (on any, ok bool) {
	if e.Source {
		if p, ok := e.Connector.(wire.Positions); ok {
			return p.OnCluster(), true
		}
		return nil, false
	}
	if l, ok := e.Connector.(wire.InLog); ok {
		return l.OnCluster(), true
	}
	return nil, false
}

// topics are what a source reads or a sink writes, as far as it is known: a source that is not a topic has its own name.
func (w *world) topics(e *stream.End) []string {
	on, ok := isTopic(e)
	if !ok || !e.Source {
		return []string{e.Name}
	}
	log, err := w.on(on).Connect(context.Background(), "streamtest")
	if err != nil {
		return nil
	}
	defer log.Close()
	names, _ := e.Connector.(wire.Positions).Topics(context.Background(), log)
	return names
}

// make makes a topic on every cluster.
func (w *world) make(topic string) {
	for _, c := range w.all() {
		w.partitions(c, topic)
	}
}

func (w *world) all() []*memory.Cluster {
	all := []*memory.Cluster{w.main}
	for _, c := range w.other {
		all = append(all, c)
	}
	return all
}

// partitions is the number of those of a topic, which is made if it is not there.
func (w *world) partitions(c *memory.Cluster, topic string) int {
	if n := c.Topics()[topic]; n > 0 {
		return n
	}
	_, _, _ = c.Records(topic, 0, 0) // whatever is used is made
	return w.how.partitions
}
