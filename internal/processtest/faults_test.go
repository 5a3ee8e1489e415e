package processtest

import (
	"syscall"
	"testing"

	"github.com/weirstream/weir/internal/kafkatest"
)

// Two members are killed in turn while they have work, and start again.
func TestKill(t *testing.T) {
	needGroup(t)
	w := newWorld(t)
	members := []*member{w.member("a"), w.member("b")}
	w.members(2)
	for _, m := range append(members, members...) {
		w.send()
		m.kill()
		m.start()
	}
	w.finish(members...)
}

// A member is frozen for longer than its session lasts, the other one does its work, and then it wakes up with what it was about to write.
func TestFreeze(t *testing.T) {
	needGroup(t)
	w := newWorld(t)
	a, b := w.member("a"), w.member("b")
	w.members(2)
	w.send()
	a.freeze()
	w.send()
	w.members(1)
	w.awaitCounted()
	w.send()
	a.signal(syscall.SIGCONT)
	w.members(2)
	w.send()
	w.finish(a, b)
}

// The only member is killed, and comes back on an empty disk: its old transaction does not stay open, and all state comes from changelogs.
func TestLostDisk(t *testing.T) {
	w := newWorld(t)
	a := w.member("a")
	w.send()
	w.awaitCounted()
	for range 2 {
		w.send()
		a.kill()
		a.lose()
		a.start()
	}
	w.finish(a)
}

// Three members are restarted in turn, as a deployment does, under load.
func TestRollingRestart(t *testing.T) {
	needGroup(t)
	w := newWorld(t)
	members := []*member{w.member("a"), w.member("b"), w.member("c")}
	w.members(3)
	for _, m := range members {
		w.send()
		m.stop()
		w.send()
		m.start()
	}
	w.finish(members...)
}

// Each of three brokers is killed and started again: leaders of partitions, and the coordinators of the group and of transactions, move.
func TestBrokers(t *testing.T) {
	needGroup(t)
	w := newWorld(t, kafkatest.Nodes(3))
	a, b := w.member("a"), w.member("b")
	w.works(a)
	w.works(b)
	w.send()
	w.awaitCounted() // by both: a first start that a broker's end is part of ends, too
	for node := 1; node <= 3; node++ {
		w.send()
		w.broker.KillNode(node)
		w.send()
		w.awaitCounted()
		w.broker.StartNode(node)
	}
	w.send()
	w.finish(a, b)
}
