package faults

import "time"

// cuts are the clients that are cut off. A judge asks them first.
type cuts struct {
	open map[string]*opened
	lost int // requests of clients that were cut off
}

type opened struct {
	Cut
	until time.Time
}

// fate is that of a request of a client that is cut off; it reports whether that is so.
func (c *cuts) fate(r Request) (f Fate, cut bool) {
	o := c.open[r.Client]
	if o == nil || r.onItsOwn() {
		return f, false
	}
	if o.For > 0 && !r.Time.Before(o.until) || o.For == 0 && o.Requests == 0 {
		delete(c.open, r.Client)
		return f, false
	}
	o.Requests--
	c.lost++
	return Fate{Drop: !o.Answers, Lose: o.Answers, Parted: true}, true
}

// begin opens the cut of a fate, whose request is the first one that is lost.
func (c *cuts) begin(r Request, f Fate) Fate {
	if f.Cut == (Cut{}) || r.onItsOwn() {
		return f
	}
	if c.open == nil {
		c.open = map[string]*opened{}
	}
	c.open[r.Client] = &opened{f.Cut, r.Time.Add(f.Cut.For)}
	c.lost++
	f.Drop, f.Lose, f.Parted = !f.Cut.Answers, f.Cut.Answers, true
	return f
}

// onItsOwn reports whether a request needs no network.
func (r Request) onItsOwn() bool { return r.Kind == Marker || r.Kind == Write }
