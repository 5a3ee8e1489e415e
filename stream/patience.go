package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// timeless are the kinds of nodes for which it makes no difference how far event time is: they hand a record on with the time it has, or keep it.
var timeless = map[topology.Kind]bool{
	topology.ExchangeOut: true, topology.ExchangeIn: true, topology.Sink: true,
	"filter": true, "filter-not": true, "map": true, "map-values": true, "try-map-values": true, "flat-map": true, "flat-map-values": true,
	"select-key": true, "peek": true, "for-each": true, "merge": true, "to-stream": true,
}

// patience is how far behind event time a record may be, in ms, and be on time for everybody behind a node: the least of their graces. Of what is not
// known to have any it is 0.
//
// A record that is no further behind finds open whatever it may touch, since a window ends behind each of its records, a session is open for a gap
// from its last one, and a record waits in a join for as long as it can be matched, all of them and the grace on top.
// Results carry the time of a record they come from or a later one, or are held back by an output watermark: so the least is taken of all
// that is behind the node, across exchanges.
func patience(n *topology.Node) int64 { return leastPatience(n, map[*topology.Node]bool{}) }

func leastPatience(n *topology.Node, seen map[*topology.Node]bool) int64 {
	if seen[n] {
		return task.MaxTime
	}
	seen[n] = true
	op := specOf(n)
	least := op.patience
	switch {
	case op.outlet:
		return task.MaxTime // what is late was told, and so is everybody behind
	case timeless[n.Kind]:
		least = task.MaxTime
	case op.opts.versioned != 0:
		least = 0 // versions are dropped as event time goes on
	}
	if n.Kind == topology.ExchangeOut {
		least = min(least, leastPatience(n.Peer, seen))
	}
	for _, e := range n.Children() {
		least = min(least, leastPatience(e.Node, seen))
	}
	return least
}

// patienceOf is that of windows: results that come before a window has closed are not held back, so nothing is said of who is behind them.
func patienceOf(grace int64, e emission) int64 {
	if e.when != onClose {
		return 0
	}
	return grace
}
