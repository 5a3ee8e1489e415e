package nexmark

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// clocked is query 12 under a virtual clock, with the rows it has returned so far.
type clocked struct {
	*streamtest.Driver
	events *streamtest.In[struct{}, event.Event]
	rows   []answer.Row11
	sums   *Rows
}

func newClocked(t *testing.T, start time.Time) *clocked {
	q := query(t, "q12")
	c := &clocked{sums: NewRows(q)}
	out := Collect(func(key, value any, deleted bool) {
		c.rows = append(c.rows, value.(answer.Row11))
		c.sums.add(key, value, deleted)
	})
	b := stream.New("nexmark-q12")
	q.Build(b, b.Source(Source(event.New(event.Config{}), 0, 1)), out)
	c.Driver = streamtest.New(t, b, streamtest.StartAt(start))
	c.events = c.In[struct{}, event.Event]("events")
	return c
}

// send has the app read an event now. Its own time is another matter: no window may heed it.
func (c *clocked) send(e event.Event) {
	c.events.SendRecord(stream.Record[struct{}, event.Event]{Value: e, NoKey: true, Time: time.UnixMilli(e.Time())})
}

func (c *clocked) bid(bidder int64) {
	c.send(event.Event{Kind: event.IsBid, Bid: event.Bid{Bidder: bidder, Price: 1, Time: 1_704_067_200_000}})
}

// A window is ten seconds of the wall clock, begins at a multiple of them, and is over when the clock says so.
func TestQ12WindowsOfTheClock(t *testing.T) {
	start := time.Date(2030, 1, 1, 12, 0, 3, 0, time.UTC)
	c := newClocked(t, start)
	c.bid(1)
	c.bid(2)
	c.Advance(6 * time.Second) // 12:00:09
	c.bid(1)
	if c.Advance(time.Second - time.Millisecond); len(c.rows) != 0 {
		t.Fatalf("a millisecond before the end there is %+v", c.rows)
	}
	window := func(bidder, bids int64, from time.Duration) answer.Row11 {
		begin := start.Truncate(10 * time.Second).Add(from)
		return answer.Row11{Bidder: bidder, Bids: bids, Start: begin.UnixMilli(), End: begin.Add(10 * time.Second).UnixMilli()}
	}
	c.Advance(time.Millisecond)
	c.bid(1) // at 12:00:10: of the next window
	c.Advance(30 * time.Second)
	c.bid(2) // 12:00:40, after windows that nobody bid in
	c.Advance(10 * time.Second)
	want := []answer.Row11{window(1, 2, 0), window(2, 1, 0), window(1, 1, 10*time.Second), window(2, 1, 40*time.Second)}
	slices.SortStableFunc(c.rows, func(a, b answer.Row11) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Bidder, b.Bidder))
	})
	if !slices.Equal(c.rows, want) {
		t.Errorf("windows %+v, want %+v", c.rows, want)
	}
}

// Each bid counts once, in windows that its bidder had bids in, also when the app begins anew in the middle of one.
func TestQ12AgainstAnswer(t *testing.T) {
	const count = 6_000
	c := newClocked(t, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	g := event.New(event.Config{PerSecond: 1000})
	sent := 0
	for e := range g.First(count) {
		c.send(e)
		if sent++; sent%1000 == 0 {
			c.Advance(7 * time.Second)
			c.Checkpoint()
		}
		if sent == 2000 { // at 14 s, in the middle of a window
			c.Crash()
		}
	}
	c.Advance(10 * time.Second)
	if err := c.sums.Check(query(t, "q12"), g.First(count)); err != nil {
		t.Error(err)
	}
	windows := map[int64]bool{}
	for _, r := range c.rows {
		if r.Bids == 0 || r.End-r.Start != 10_000 || r.Start%10_000 != 0 {
			t.Errorf("window %+v", r)
		}
		windows[r.Start] = true
	}
	if len(windows) != 4 { // bids came at 0, 7, 14, 21, 28 and 35 s
		t.Errorf("%d windows, want those of 0, 10, 20 and 30 s", len(windows))
	}
}
