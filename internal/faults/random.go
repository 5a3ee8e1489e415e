package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is what a seed draws from.
type Plan struct {
	Seed uint64
	// Odds are those of each kind of request. A kind that is missing always passes. Default Common().
	Odds map[Kind]Odds
	// PassAtMost bounds how much time passes at once. Default 10 s.
	PassAtMost time.Duration
	// Within bounds by how many further requests something is delayed. Default 20.
	Within int
	// Kills are the requests, of all kinds together and counted from 1, at which the connection ends; whether they are still done is
	// drawn. Default none.
	Kills []int
	// Cuts are the requests, counted in the same way, at which the client that sends them is cut off from the cluster; how and for how long
	// is drawn, up to PassAtMost. Requests of clients that are cut off do not count. Default none.
	Cuts []int
	// First is how many requests pass before anything goes wrong; Last after how many everything passes again, so that a run comes
	// to its end. Default 0: from the first on, and for ever.
	First, Last int
}

// Odds are chances out of a thousand. With Pass, up to PassAtMost of the plan passes.
type Odds struct {
	Drop, Lose, After, Again, Refuse, Clean, Pass int
}

// Common are odds under which a correct app gets along: everything that a network and a busy broker do to requests now and then.
// Markers are often late, disks are slow, the log is cleaned, and time passes now and then. Nothing is refused for good.
func Common() map[Kind]Odds {
	odds := map[Kind]Odds{Marker: {After: 400}}
	for _, k := range []Kind{InitProducer, AddPartitions, Produce, TxnOffsets, EndTxn} {
		odds[k] = Odds{Drop: 15, Lose: 15, After: 15, Again: 30}
	}
	for _, k := range []Kind{OffsetCommit, OffsetFetch, ListOffsets, Metadata} {
		odds[k] = Odds{Drop: 10, Lose: 10}
	}
	odds[OffsetCommit] = Odds{Drop: 10, Lose: 10, After: 10} // one that was answered does not come again: nothing sends it
	odds[Write] = Odds{After: 40, Pass: 20}
	odds[Fetch] = Odds{Refuse: 10, Clean: 10, Pass: 5}
	return odds
}

// Random is a judge that draws from a plan. What it drew is a Script, which plays the same again without the seed.
type Random struct {
	plan   Plan
	rand   *rand.Rand
	script Script
	seen   [kinds]int
	all    int
	cuts   cuts
}

// NewRandom makes a judge for one run.
func NewRandom(p Plan) *Random {
	if p.Odds == nil {
		p.Odds = Common()
	}
	if p.PassAtMost <= 0 {
		p.PassAtMost = 10 * time.Second
	}
	if p.Within <= 0 {
		p.Within = 20
	}
	return &Random{plan: p, rand: rand.New(rand.NewPCG(p.Seed, 0x77656972)), script: Script{}}
}

// Judge draws. A marker is not a request: it does not count for Kills, First and Last.
func (r *Random) Judge(q Request) Fate {
	if f, cut := r.cuts.fate(q); cut {
		return f
	}
	if q.Kind != Marker {
		r.all++
	}
	r.seen[q.Kind]++
	f := r.draw(q.Kind)
	if f != (Fate{}) {
		r.script[Call{q.Kind, r.seen[q.Kind]}] = f
	}
	return r.cuts.begin(q, f)
}

func (r *Random) draw(k Kind) Fate {
	if k != Marker && slices.Contains(r.plan.Kills, r.all) {
		if r.rand.IntN(2) == 0 {
			return Fate{Kill: true}
		}
		return Fate{KillDone: true}
	}
	if k != Marker && k != Write && slices.Contains(r.plan.Cuts, r.all) {
		return Fate{Cut: r.drawCut()}
	}
	if r.all < r.plan.First || r.plan.Last > 0 && r.all > r.plan.Last {
		return Fate{}
	}
	odds, at := r.plan.Odds[k], r.rand.IntN(1000)
	by := 1 + r.rand.IntN(r.plan.Within)
	passes := time.Second + time.Duration(r.rand.Int64N(int64(r.plan.PassAtMost)))
	for _, c := range []struct {
		chance int
		fate   Fate
	}{
		{odds.Drop, Fate{Drop: true}},
		{odds.Lose, Fate{Lose: true}},
		{odds.After, Fate{After: by}},
		{odds.Again, Fate{Again: by}},
		{odds.Refuse, Fate{Refuse: refusals["later"]}},
		{odds.Clean, Fate{Clean: true}},
		{odds.Pass, Fate{Pass: passes.Round(time.Millisecond)}},
	} {
		if at < c.chance {
			return c.fate
		}
		at -= c.chance
	}
	return Fate{}
}

// drawCut is half of the time a number of requests and half of the time a duration, which may end a session.
func (r *Random) drawCut() Cut {
	c := Cut{Answers: r.rand.IntN(2) == 0}
	if r.rand.IntN(2) == 0 {
		c.Requests = 1 + r.rand.IntN(3*r.plan.Within)
	} else {
		c.For = (time.Second + time.Duration(r.rand.Int64N(int64(r.plan.PassAtMost)))).Round(time.Millisecond)
	}
	return c
}

// Parted is how many requests were lost, or their answers, because their client was cut off.
func (r *Random) Parted() int { return r.cuts.lost }

// Requests is how many have come, markers not counted: Kills are drawn from the count of an undisturbed run.
func (r *Random) Requests() int { return r.all }

// Script is what was drawn so far.
func (r *Random) Script() Script { return r.script }

// String says how to run the same again.
func (r *Random) String() string {
	return fmt.Sprintf("seed %d, %d requests, killed at %v:\n%s", r.plan.Seed, r.all, r.plan.Kills, r.script)
}
