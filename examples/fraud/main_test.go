package main

import (
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// bench is the topology with its ends.
type bench struct {
	*streamtest.Driver
	t      *testing.T
	limits *streamtest.In[string, Limit]
	txns   *streamtest.In[string, Txn]
	scored *streamtest.Out[string, Scored]
	alerts *streamtest.Out[string, Alert]
}

func newBench(t *testing.T) *bench {
	d := streamtest.New(t, topology(), streamtest.StartAt(noon))
	return &bench{d, t, d.In[string, Limit]("limits"), d.In[string, Txn]("txns"), d.Out[string, Scored]("scored"), d.Out[string, Alert]("alerts")}
}

func (b *bench) scores(want ...float64) {
	b.t.Helper()
	var got []float64
	for _, r := range b.scored.Read() {
		got = append(got, r.Value.Score)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("scores are %v, want %v", got, want)
	}
}

func (b *bench) alarms(want ...Alert) {
	b.t.Helper()
	var got []Alert
	for _, r := range b.alerts.Read() {
		r.Value.At = r.Value.At.UTC()
		got = append(got, r.Value)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("alerts are %v, want %v", got, want)
	}
}

func TestALimitIsPerMerchant(t *testing.T) {
	b := newBench(t)
	b.limits.SendAt(at(0), "ann", Limit{1000})
	b.txns.SendAt(at(1), "ann", Txn{"shoes", 600})
	b.txns.SendAt(at(2), "ann", Txn{"hats", 600})
	b.txns.SendAt(at(3), "bob", Txn{"shoes", 5000}) // has no limit
	b.Crash()
	b.txns.SendAt(at(4), "ann", Txn{"shoes", 401})
	b.scores(0, 0, 0, 1)
	b.alarms()
}

func TestSmallThenLargeBlocksTheCard(t *testing.T) {
	b := newBench(t)
	b.txns.SendAt(at(0), "ann", Txn{"kiosk", 99})
	b.txns.SendAt(at(30), "bob", Txn{"jewels", 90_000}) // another card
	b.txns.SendAt(at(30), "ann", Txn{"jewels", 90_000})
	b.txns.SendAt(at(31), "ann", Txn{"jewels", 200}) // is blocked, so skipped
	b.scores(0, 0, 0)
	b.alarms(Alert{"ann", "small, then large", at(30)})
}

func TestASmallPaymentIsForgotten(t *testing.T) {
	b := newBench(t)
	b.txns.SendAt(at(0), "ann", Txn{"kiosk", 99})
	b.limits.Advance(at(60))
	b.txns.Advance(at(60))
	b.txns.SendAt(at(61), "ann", Txn{"jewels", 90_000})
	b.scores(0, 0)
	b.alarms()
}

func TestABusyCardIsReviewedOnceItIsQuiet(t *testing.T) {
	b := newBench(t)
	for i := range busy + 1 {
		b.txns.SendAt(at(i), "ann", Txn{"kiosk", 200})
	}
	for range busy {
		b.txns.SendAt(at(busy), "bob", Txn{"kiosk", 200}) // one fewer
	}
	b.Advance(quiet - time.Second)
	b.alarms()
	b.Advance(time.Second)
	b.alarms(Alert{"ann", "busy", noon.Add(quiet)})
	b.Advance(2 * quiet)
	b.alarms()
}
