package event

import (
	"iter"
	"time"
)

// Of every 50 events one is a person, three are auctions and 46 are bids, in this order.
const (
	perEpoch         = 50
	personsPerEpoch  = 1
	auctionsPerEpoch = 3
)

// What the suite prescribes about who is popular.
const (
	hotAuctionRatio = 2    // 1 - 1/2 of all bids go to the hot auction
	hotBidderRatio  = 4    // 1 - 1/4 of all bids come from the hot bidder
	hotSellerRatio  = 4    // 1 - 1/4 of all auctions are of the hot seller
	hotEvery        = 100  // the hot one changes with every hundredth id
	inFlight        = 100  // auctions that the other bids are spread over
	activePeople    = 1000 // people that the others are
	lead            = 10   // ids that may be named before they exist
	firstCategory   = 10
	categories      = 5
)

// Average sizes of events in bytes.
const (
	personSize  = 200
	auctionSize = 500
	bidSize     = 100
)

// Config says which events. The zero Config is the suite's: 10,000 events per second of event time.
type Config struct {
	Seed      uint64
	PerSecond int64     // events per second of event time. Default 10,000
	Start     time.Time // time of event 0. Default 2024-01-01T00:00:00Z, which begins a window of any size that divides a day
}

// A Generator makes events. It may be used by many goroutines at once.
type Generator struct {
	seed             uint64
	start, perSecond int64
	longestAuction   int64 // milliseconds
	words            *words
}

// New makes a generator.
func New(c Config) *Generator {
	if c.PerSecond <= 0 {
		c.PerSecond = 10_000
	}
	if c.Start.IsZero() {
		c.Start = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	// An auction lasts, on average, until as many others as are in flight have been opened after it.
	horizon := inFlight * perEpoch / auctionsPerEpoch * 1000 / c.PerSecond
	return &Generator{
		seed:           c.Seed,
		start:          c.Start.UnixMilli(),
		perSecond:      c.PerSecond,
		longestAuction: max(2*horizon, 1),
		words:          newWords(c.Seed),
	}
}

// Time is the event time of event n in milliseconds.
func (g *Generator) Time(n uint64) int64 { return g.start + int64(n)*1000/g.perSecond }

// Event makes event n in e, all of it.
func (g *Generator) Event(n uint64, e *Event) {
	r := newRandom(g.seed, n)
	switch offset := n % perEpoch; {
	case offset < personsPerEpoch:
		*e = Event{Kind: IsPerson, Person: g.person(&r, n)}
	case offset < personsPerEpoch+auctionsPerEpoch:
		*e = Event{Kind: IsAuction, Auction: g.auction(&r, n)}
	default:
		e.Kind, e.Person, e.Auction = IsBid, nil, nil
		g.bid(&r, n, &e.Bid)
	}
}

// First yields events 0 to n-1.
func (g *Generator) First(n uint64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range n {
			var e Event
			if g.Event(i, &e); !yield(e) {
				return
			}
		}
	}
}

// lastPerson is the id of the latest person at event n, itself included.
func lastPerson(n uint64) int64 { return int64(n / perEpoch) }

// lastAuction is the id of the latest auction at event n, itself included; -1 before the first.
func lastAuction(n uint64) int64 {
	opened := min(max(int64(n%perEpoch)+1-personsPerEpoch, 0), auctionsPerEpoch)
	return int64(n/perEpoch)*auctionsPerEpoch + opened - 1
}

func (g *Generator) person(r *random, n uint64) *Person {
	p := &Person{
		ID:         lastPerson(n),
		Name:       g.words.names[r.below(int64(len(g.words.names)))],
		Email:      g.words.letters(r, 7, 7) + "@" + g.words.letters(r, 5, 5) + ".com",
		CreditCard: creditCard(r),
		City:       cities[r.below(int64(len(cities)))],
		State:      states[r.below(int64(len(states)))],
		Time:       g.Time(n),
	}
	size := 16 + len(p.Name) + len(p.Email) + len(p.CreditCard) + len(p.City) + len(p.State)
	p.Extra = g.words.extra(r, size, personSize)
	return p
}

// creditCard is four groups of four digits.
func creditCard(r *random) string {
	var b [19]byte
	for group := range 4 {
		digits := r.below(10_000)
		for i := 3; i >= 0; i-- {
			b[5*group+i] = byte('0' + digits%10)
			digits /= 10
		}
		if group < 3 {
			b[5*group+4] = ' '
		}
	}
	return string(b[:])
}

func (g *Generator) auction(r *random, n uint64) *Auction {
	a := &Auction{
		ID:          lastAuction(n),
		Item:        g.words.letters(r, 3, 20),
		Description: g.words.letters(r, 3, 100),
		InitialBid:  g.words.price(r),
		Time:        g.Time(n),
		Seller:      someone(r, n, hotSellerRatio, 0),
		Category:    firstCategory + r.below(categories),
	}
	a.Reserve = a.InitialBid + g.words.price(r)
	a.Expires = a.Time + 1 + r.below(g.longestAuction)
	a.Extra = g.words.extra(r, 56+len(a.Item)+len(a.Description), auctionSize)
	return a
}

func (g *Generator) bid(r *random, n uint64, b *Bid) {
	b.Auction = auctionForBid(r, n)
	b.Bidder = someone(r, n, hotBidderRatio, 1)
	b.Price = g.words.price(r)
	channel := r.below(channels)
	if x := r.below(2 * int64(len(hotChannels))); x < int64(len(hotChannels)) {
		channel = channels + x
	}
	b.Channel, b.URL = g.words.channel[channel], g.words.url[channel]
	b.Time = g.Time(n)
	b.Extra = g.words.extra(r, 32, bidSize)
}

// auctionForBid is the hot auction, or one of those in flight, or one that is about to be opened.
func auctionForBid(r *random, n uint64) int64 {
	last := lastAuction(n)
	if r.below(hotAuctionRatio) > 0 {
		return last / hotEvery * hotEvery
	}
	first := max(last-inFlight, 0)
	return first + r.below(last-first+1+lead)
}

// someone is the hot person, or an active one, or one who is about to register. Hot bidders and hot sellers
// are different people: they differ by nth.
func someone(r *random, n uint64, ratio, nth int64) int64 {
	last := lastPerson(n)
	if r.below(ratio) > 0 {
		return last/hotEvery*hotEvery + nth
	}
	active := min(last+1, activePeople)
	return last + 1 - active + r.below(active+lead)
}
