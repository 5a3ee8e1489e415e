package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/topology"
)

// A placement looks now and then whether a source's records lie where Kafka's partitioner puts their keys. Those of a client that hashes
// otherwise meet no row or record of a topic written by another, and no join would ever say so.
type placement struct {
	n, at     int32
	misplaced func(int64)
	warn      func(key []byte, in int32)
}

// placement makes the one of the source being made; nil where nothing behind it needs records in place, or nobody knows the partitions.
func (in *instance) placement() *placement {
	n := in.env.KeyedBy(in.node.Name)
	if n < 2 || !meets(in.node) {
		return nil
	}
	name, env := in.node.Name, in.env
	return &placement{n: int32(n), at: int32(in.task.Partition), misplaced: env.Count("weir_misplaced_total", "source", name),
		warn: func(key []byte, at int32) {
			env.Warn("placement of "+name, fmt.Sprintf("source %s: records are not in the partitions that Kafka's partitioner gives their keys "+
				"(murmur2; the default of some Go clients is FNV-1a), or were written before the topic grew: they meet no records and rows of topics that are "+
				"written otherwise. Put a Repartition behind the source", name),
				"key", fmt.Sprintf("%.64q", key), "in", at, "belongs in", partition.Of(key, int32(n)))
		}}
}

// meets reports whether the records of a source meet others in its task, by their keys.
func meets(n *topology.Node) bool {
	for _, e := range n.Children() {
		if e.Port > 0 || hasPorts(e.Node) || meets(e.Node) {
			return true
		}
	}
	return false
}

func hasPorts(n *topology.Node) bool {
	for _, p := range n.Parents {
		if p.Port > 0 {
			return true
		}
	}
	return false
}

// samples is how many records at the beginning of a batch are looked at.
const samples = 4

// look samples a batch.
func (p *placement) look(b interface {
	Len() int
	Raw(i int) (key, value []byte)
}) {
	for i := range min(b.Len(), samples) {
		if key, _ := b.Raw(i); key != nil && partition.Of(key, p.n) != p.at {
			p.misplaced(1)
			p.warn(key, p.at)
		}
	}
}
