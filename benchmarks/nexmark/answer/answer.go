// Package answer computes what the queries of Nexmark must return, the plain way: all events in memory, loops and maps.
// It knows nothing of weir, and a test sees to that. Where weir keeps state incrementally, this looks at
// everything again; it is slow on purpose.
//
// A query whose SQL yields rows that never change has its answer as a slice, in no order. One whose rows are updated has
// a map, from what SQL would call the primary key to the last row.
package answer

import (
	"iter"
	"slices"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// Events are the input of a query.
type Events = iter.Seq[event.Event]

func persons(events Events) (all []event.Person) {
	for e := range events {
		if e.Kind == event.IsPerson {
			all = append(all, *e.Person)
		}
	}
	return all
}

func auctions(events Events) (all []event.Auction) {
	for e := range events {
		if e.Kind == event.IsAuction {
			all = append(all, *e.Auction)
		}
	}
	return all
}

func bids(events Events) (all []event.Bid) {
	for e := range events {
		if e.Kind == event.IsBid {
			all = append(all, e.Bid)
		}
	}
	return all
}

// by puts values into groups.
func by[K comparable, V any](all []V, key func(V) K) map[K][]V {
	groups := map[K][]V{}
	for _, v := range all {
		groups[key(v)] = append(groups[key(v)], v)
	}
	return groups
}

// distinct counts the different values of f among the elements that are ok.
func distinct[V any](all []V, ok func(V) bool, f func(V) int64) int64 {
	seen := map[int64]bool{}
	for _, v := range all {
		if ok(v) {
			seen[f(v)] = true
		}
	}
	return int64(len(seen))
}

func count[V any](all []V, ok func(V) bool) (n int64) {
	for _, v := range all {
		if ok(v) {
			n++
		}
	}
	return n
}

// Price ranks that queries 15 to 17 count by.
func anyRank(event.Bid) bool { return true }
func rank1(b event.Bid) bool { return b.Price < 10_000 }
func rank2(b event.Bid) bool { return b.Price >= 10_000 && b.Price < 1_000_000 }
func rank3(b event.Bid) bool { return b.Price >= 1_000_000 }

func bidder(b event.Bid) int64 { return b.Bidder }
func onto(b event.Bid) int64   { return b.Auction }

func utc(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func day(ms int64) string { return utc(ms).Format(time.DateOnly) }

// won returns the bids that compete for each auction: made while it was open, both ends included. Auctions without one are left out.
func won(events Events) map[event.Auction][]event.Bid {
	onAuction := by(bids(events), onto)
	all := map[event.Auction][]event.Bid{}
	for _, a := range auctions(events) {
		valid := slices.DeleteFunc(onAuction[a.ID], func(b event.Bid) bool { return b.Time < a.Time || b.Time > a.Expires })
		if len(valid) > 0 {
			all[a] = valid
		}
	}
	return all
}
