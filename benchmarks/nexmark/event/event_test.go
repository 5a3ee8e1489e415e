package event

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What needs no randomness: the first million events.
func TestProportions(t *testing.T) {
	g := New(Config{})
	var e Event
	var total [3]int
	windows := make([][3]int, 10)
	next := [2]int64{}
	for n := range uint64(1_000_000) {
		g.Event(n, &e)
		total[e.Kind]++
		windows[(e.Time()-g.Time(0))/10_000][e.Kind]++
		switch e.Kind {
		case IsPerson:
			if e.Person.ID != next[0] {
				t.Fatalf("event %d is person %d, want %d", n, e.Person.ID, next[0])
			}
			next[0]++
		case IsAuction:
			if e.Auction.ID != next[1] {
				t.Fatalf("event %d is auction %d, want %d", n, e.Auction.ID, next[1])
			}
			next[1]++
		}
	}
	if want := [3]int{20_000, 60_000, 920_000}; total != want {
		t.Errorf("persons, auctions, bids: %v, want %v", total, want)
	}
	for i, w := range windows {
		if want := [3]int{2_000, 6_000, 92_000}; w != want {
			t.Errorf("10 s window %d: %v, want %v", i, w, want)
		}
	}
}

// The skew that makes the queries hard: shares of a million events within half a percent.
func TestPopularity(t *testing.T) {
	g := New(Config{Seed: 7})
	var e Event
	var bids, auctions, hotAuction, hotBidder, hotSeller, hotChannel, noID, ahead float64
	for n := range uint64(1_000_000) {
		g.Event(n, &e)
		switch e.Kind {
		case IsAuction:
			auctions++
			hotSeller += is(e.Auction.Seller == lastPerson(n)/100*100)
			if d := e.Auction.Expires - e.Auction.Time; d < 1 || d > 333 {
				t.Fatalf("an auction lasts %d ms", d)
			}
			if c := e.Auction.Category; c < 10 || c > 14 {
				t.Fatalf("category %d", c)
			}
		case IsBid:
			bids++
			hotAuction += is(e.Bid.Auction == lastAuction(n)/100*100)
			hotBidder += is(e.Bid.Bidder == lastPerson(n)/100*100+1)
			hotChannel += is(!strings.HasPrefix(e.Bid.Channel, "channel-"))
			noID += is(strings.HasPrefix(e.Bid.Channel, "channel-") && !strings.Contains(e.Bid.URL, "channel_id="))
			ahead += is(e.Bid.Auction > lastAuction(n))
			if b := e.Bid; b.Auction < 0 || b.Auction > lastAuction(n)+lead || b.Bidder > lastPerson(n)+lead || b.Bidder < 0 {
				t.Fatalf("event %d: %+v", n, b)
			}
			if p := e.Bid.Price; p < 100 || p > 100_000_000 {
				t.Fatalf("price %d", p)
			}
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.006 {
			t.Errorf("%s: %.4f, want %.4f", what, got, want)
		}
	}
	near("hot auction", hotAuction/bids, 1.0/2+1.0/2/111)
	near("hot bidder", hotBidder/bids, 3.0/4)
	near("hot seller", hotSeller/auctions, 3.0/4)
	near("hot channel", hotChannel/bids, 1.0/2)
	near("channel without id", noID/bids, 1.0/20)
	near("auction to come", ahead/bids, 1.0/2*10/111)
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Prices are log-uniform: each decade from 1 to 1,000,000 dollars has a sixth.
func TestPrices(t *testing.T) {
	g, r := New(Config{}), newRandom(1, 1)
	var decades [6]int
	for range 600_000 {
		decades[min(int(math.Log10(float64(g.words.price(&r))))-2, 5)]++
	}
	for i, n := range decades {
		if n < 98_500 || n > 101_500 {
			t.Errorf("decade %d has %d of 600,000 prices, want a sixth", i, n)
		}
	}
}

func TestSizes(t *testing.T) {
	g := New(Config{})
	var e Event
	var size, count [3]int
	for n := range uint64(100_000) {
		g.Event(n, &e)
		count[e.Kind]++
		switch e.Kind {
		case IsPerson:
			p := e.Person
			size[e.Kind] += 16 + len(p.Name) + len(p.Email) + len(p.CreditCard) + len(p.City) + len(p.State) + len(p.Extra)
		case IsAuction:
			a := e.Auction
			size[e.Kind] += 56 + len(a.Item) + len(a.Description) + len(a.Extra)
		case IsBid:
			size[e.Kind] += 32 + len(e.Bid.Extra)
		}
	}
	for k, want := range [3]int{personSize, auctionSize, bidSize} {
		if got := size[k] / count[k]; got < want-3 || got > want+3 {
			t.Errorf("kind %d: %d bytes on average, want %d", k, got, want)
		}
	}
}

// An event is itself whoever makes it, in whatever order, into whatever was there before.
func TestEventsAreReproducible(t *testing.T) {
	a, b, other := New(Config{Seed: 3}), New(Config{Seed: 3}), New(Config{Seed: 4})
	var x, y, z Event
	differ := 0
	for _, n := range []uint64{49, 0, 1, 999_983, 50, 51, 2, 1 << 40, 7} {
		a.Event(n, &x)
		b.Event(n, &y)
		other.Event(n, &z)
		if !reflect.DeepEqual(x, y) {
			t.Errorf("event %d: %+v and %+v", n, x, y)
		}
		if !reflect.DeepEqual(x, z) {
			differ++
		}
	}
	if differ != 9 {
		t.Errorf("another seed gives the same events: only %d of 9 differ", differ)
	}
}

func TestConfig(t *testing.T) {
	start := time.UnixMilli(1_000_000)
	g := New(Config{PerSecond: 1000, Start: start})
	if got := g.Time(1500); got != 1_001_500 {
		t.Errorf("Time(1500) = %d", got)
	}
	n := 0
	for range g.First(5) {
		n++
	}
	for range g.First(5) {
		n++
		break
	}
	if n != 6 {
		t.Errorf("First gave %d events in all, want 6", n)
	}
}

func TestCodec(t *testing.T) {
	g := New(Config{})
	for n := range uint64(200) {
		var e, back Event
		g.Event(n, &e)
		b, err := e.AppendBinary([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalBinary(b[1:]); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%+v came back as %+v, %v", e, back, err)
		}
		for cut := range len(b) - 1 {
			if err := back.UnmarshalBinary(b[1 : 1+cut]); err == nil {
				t.Fatalf("%d of %d bytes were taken", cut, len(b)-1)
			}
		}
		if err := back.UnmarshalBinary(append(b[1:], 0)); err == nil {
			t.Fatal("a byte too many was taken")
		}
	}
	if _, err := (Event{Kind: IsPerson}).AppendBinary(nil); err == nil {
		t.Error("a person without a person was written")
	}
}

func FuzzCodec(f *testing.F) {
	g := New(Config{})
	for n := range uint64(6) {
		var e Event
		g.Event(n, &e)
		b, _ := e.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again Event
		if e.UnmarshalBinary(b) != nil {
			return
		}
		b, err := e.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(b); err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%+v, %+v, %v", e, again, err)
		}
	})
}

func TestBidsDoNotAllocate(t *testing.T) {
	g := New(Config{})
	var e Event
	n := uint64(4)
	if allocs := testing.AllocsPerRun(1000, func() {
		g.Event(n, &e)
		if n++; n%perEpoch == 0 {
			n += 4
		}
	}); allocs != 0 {
		t.Errorf("%v allocations per bid, want 0", allocs)
	}
}

func BenchmarkEvent(b *testing.B) {
	g := New(Config{})
	var e Event
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		g.Event(n, &e)
	}
}

func TestOrders(t *testing.T) {
	low, high := Bid{Price: 1, Time: 5}, Bid{Price: 2, Time: 9}
	late := Bid{Price: 2, Time: 10}
	if high.Beats(low) <= 0 || high.Beats(late) <= 0 || late.Follows(high) <= 0 || low.Follows(high) >= 0 {
		t.Error("the higher price beats, then the earlier bid; the later bid follows")
	}
	// Each field alone tells two bids apart, one way round.
	for _, b := range []Bid{{Auction: 1}, {Bidder: 1}, {Price: 1}, {Time: 1}, {Channel: "a"}, {URL: "a"}, {Extra: "a"}} {
		if b.Compare(Bid{}) <= 0 || (Bid{}).Compare(b) >= 0 || b.Compare(b) != 0 || b.Beats(Bid{})*(Bid{}).Beats(b) >= 0 {
			t.Errorf("%+v is not told apart", b)
		}
	}
}
