// Package event makes the events of Nexmark, an online auction: people register, open auctions, and bid.
//
// Event n is a function of n and the seed alone. So any number of readers in any number of processes see the same
// events, each its share, and a reader goes on after a crash from a number. The package knows nothing of weir: what
// checks weir's answers rests on it.
package event

import (
	"cmp"
	"strings"
)

// A Kind says what an event is.
type Kind uint8

// The kinds.
const (
	IsPerson Kind = iota
	IsAuction
	IsBid
)

// An Event is one of three things. The 46 bids of every 50 events lie in the event itself and cost no allocation.
type Event struct {
	Kind    Kind
	Person  *Person
	Auction *Auction
	Bid     Bid
}

// Time is the event time in milliseconds since 1970.
func (e *Event) Time() int64 {
	switch e.Kind {
	case IsPerson:
		return e.Person.Time
	case IsAuction:
		return e.Auction.Time
	}
	return e.Bid.Time
}

// A Person registered.
type Person struct {
	ID                                   int64
	Name, Email, CreditCard, City, State string
	Time                                 int64 // milliseconds since 1970
	Extra                                string
}

// An Auction was opened.
type Auction struct {
	ID                  int64
	Item, Description   string
	InitialBid, Reserve int64 // cents
	Time, Expires       int64 // milliseconds since 1970
	Seller, Category    int64
	Extra               string
}

// A Bid was made.
type Bid struct {
	Auction, Bidder int64
	Price           int64 // cents
	Channel, URL    string
	Time            int64 // milliseconds since 1970
	Extra           string
}

// Compare is an order of bids in which only equal bids are equal, for queries that leave ties open: the answer then does not
// depend on the order in which bids arrive.
func (b Bid) Compare(o Bid) int {
	return cmp.Or(
		cmp.Compare(b.Price, o.Price),
		cmp.Compare(b.Time, o.Time),
		cmp.Compare(b.Auction, o.Auction),
		cmp.Compare(b.Bidder, o.Bidder),
		strings.Compare(b.Channel, o.Channel),
		strings.Compare(b.URL, o.URL),
		strings.Compare(b.Extra, o.Extra),
	)
}

// Beats orders the bids on an auction: the higher price wins, then the earlier bid, then Compare decides, which looks at all of both and so
// is not asked before.
func (b Bid) Beats(o Bid) int {
	if c := cmp.Or(cmp.Compare(b.Price, o.Price), cmp.Compare(o.Time, b.Time)); c != 0 {
		return c
	}
	return b.Compare(o)
}

// Follows orders bids by time; of two in the same millisecond Compare decides.
func (b Bid) Follows(o Bid) int {
	if c := cmp.Compare(b.Time, o.Time); c != 0 {
		return c
	}
	return b.Compare(o)
}
