package answer

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// The evaluators judge weir, so they must not rest on it.
func TestKnowsNothingOfWeir(t *testing.T) {
	for _, pattern := range []string{"*.go", "../event/*.go", "../internal/fields/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path := strings.Trim(imp.Path.Value, `"`)
				if strings.Contains(path, ".") && !strings.HasPrefix(path, "github.com/weirstream/weir/benchmarks/nexmark/") {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}

func person(id, at int64, state string) event.Event {
	return event.Event{Kind: event.IsPerson, Person: &event.Person{ID: id, Name: "n", City: "c", State: state, Time: at}}
}

func auction(id, seller, category, at, expires int64) event.Event {
	return event.Event{Kind: event.IsAuction, Auction: &event.Auction{ID: id, Seller: seller, Category: category, Time: at, Expires: expires}}
}

func bid(auction, bidder, price, at int64) event.Event {
	return event.Event{Kind: event.IsBid, Bid: event.Bid{Auction: auction, Bidder: bidder, Price: price, Time: at}}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %+v, want %+v", what, got, want)
	}
}

func TestWinningBids(t *testing.T) {
	events := slices.Values([]event.Event{
		bid(1, 9, 99, 99), // a millisecond too early
		bid(1, 1, 10, 100),
		auction(1, 7, 10, 100, 200), // its first bid came before it, in the same millisecond
		bid(1, 2, 30, 150),
		bid(1, 3, 30, 149), // the same price, earlier
		bid(1, 9, 99, 201), // too late
		auction(2, 7, 10, 300, 310),
		bid(2, 4, 15, 310), // at the last moment
		auction(3, 7, 11, 300, 310),
		bid(2, 4, 99, 311),
	})
	rows := Q9(events)
	same(t, "Q9 auctions", slices.Sorted(maps.Keys(rows)), []int64{1, 2})
	same(t, "Q9 winner", rows[1].Bidder, 3)
	same(t, "Q9 winner", rows[2].BidTime, 310)
	same(t, "Q4", Q4(events), map[int64]int64{10: (30 + 15) / 2})
	same(t, "Q6", Q6(events), map[int64]int64{7: 22})
}

func TestQ6TakesEleven(t *testing.T) {
	var all []event.Event
	for i := range int64(13) {
		all = append(all, auction(i, 7, 10, 100*i, 100*i+50), bid(i, 1, 1000*i, 100*i))
	}
	same(t, "Q6", Q6(slices.Values(all)), map[int64]int64{7: 7000}) // the mean of 2 to 12 thousand
}

func TestWindows(t *testing.T) {
	events := slices.Values([]event.Event{
		person(1, 9_999, "OR"), person(2, 9_999, "OR"),
		auction(1, 1, 10, 5_000, 0), auction(2, 2, 10, 10_000, 0), // the second seller opens it in the next window
		bid(1, 1, 50, 9_000), bid(1, 1, 50, 9_999), bid(2, 2, 60, 10_000), bid(2, 2, 1, 20_000), bid(3, 2, 1, 20_001),
	})
	same(t, "Q8", Q8(events), []Row8{{1, "n", 0}})
	got := Q7(events)
	slices.SortFunc(got, func(a, b Row0) int { return int(a.Time - b.Time) })
	same(t, "Q7", got, []Row0{{1, 1, 50, 9_000, ""}, {1, 1, 50, 9_999, ""}, {2, 2, 60, 10_000, ""}, {2, 2, 1, 20_000, ""}, {3, 2, 1, 20_001, ""}})
	hot := map[Row5]int{}
	for _, r := range Q5(events) {
		hot[r]++
	}
	// Windows from 0 to 8 s have auction 1 twice; that from 10 s has auction 2 once; then 2 and 3 tie from 12 to 20 s.
	same(t, "Q5", hot, map[Row5]int{{1, 2}: 5, {2, 1}: 1 + 5, {3, 1}: 5})
	sessions := Q11(events)
	slices.SortFunc(sessions, func(a, b Row11) int { return int(a.Bidder - b.Bidder) })
	same(t, "Q11", sessions, []Row11{{1, 2, 9_000, 19_999}, {2, 3, 10_000, 30_001}}) // exactly 10 s apart is one session
}

func TestStatistics(t *testing.T) {
	const day = 86_400_000
	events := slices.Values([]event.Event{
		bid(1, 1, 9_999, 0), bid(1, 2, 10_000, 61_000), bid(2, 1, 999_999, 2), bid(2, 1, 1_000_000, 3), bid(1, 1, 5, day),
	})
	want := Row15{Ranks{4, 1, 2, 1}, Ranks{2, 1, 2, 1}, Ranks{2, 1, 2, 1}}
	same(t, "Q15", Q15(events)["1970-01-01"], want)
	same(t, "Q16", Q16(events)[ChannelDay{"", "1970-01-01"}], Row16{"00:01", want})
	same(t, "Q17", Q17(events)[AuctionDay{1, "1970-01-01"}], Row17{Ranks{2, 1, 1, 0}, 9_999, 10_000, 9_999, 19_999})
	same(t, "Q15 days", len(Q15(events)), 2)
}

func TestPicks(t *testing.T) {
	url := func(channel, url string) event.Event {
		return event.Event{Kind: event.IsBid, Bid: event.Bid{Channel: channel, URL: url}}
	}
	events := slices.Values([]event.Event{
		url("APPLE", "x"), url("c", "https://h/a/b/c/item?q=1&channel_id=7&z"), url("c", "https://h/a"), url("c", "?channel_id=7"),
	})
	var ids []string
	for _, r := range Q21(events) {
		ids = append(ids, r.ChannelID)
	}
	same(t, "Q21", ids, []string{"0", "7"})
	same(t, "Q22", Q22(events)[1].Dir3, "c")
	same(t, "Q22", Q22(events)[2].Dir2, "")

	prices := slices.Values([]event.Event{bid(246, 1, 1_101_321, 0), bid(1, 1, 1_101_322, 19*3_600_000), bid(1, 1, 60_000_000, 0)})
	same(t, "Q2", Q2(prices), []Row2{{246, 1_101_321}})
	same(t, "Q14", Q14(prices), []Row14{{1, 1, 1_000_000_376, "otherTime", 19 * 3_600_000, "", 0}})
	same(t, "Q13", len(Q13(prices, map[int64]string{246: "x"})), 1)
}

func TestJoins(t *testing.T) {
	events := slices.Values([]event.Event{
		auction(1, 1, 10, 0, 0), auction(2, 1, 11, 0, 0), auction(3, 2, 10, 0, 0),
		bid(1, 1, 5, 0), bid(2, 2, 6, 0), bid(2, 1, 7, 0), bid(4, 1, 8, 0),
		person(1, 0, "CA"), person(2, 0, "WA"),
	})
	same(t, "Q3", Q3(events), []Row3{{"n", "c", "CA", 1}})
	same(t, "Q20", len(Q20(events)), 1)
	same(t, "Q23", len(Q23(events)), 3*2+1)
	same(t, "Q12", Q12(events), map[int64]int64{1: 3, 2: 1})
	same(t, "Q18", len(Q18(events)), 4)
	same(t, "Q19", Q19(events)[2][0].Price, 7)
}

// Every query has something to say about generated events: an empty answer would be compared with an empty result.
func TestNoAnswerIsEmpty(t *testing.T) {
	events := event.New(event.Config{PerSecond: 1000}).First(30_000)
	for name, n := range map[string]int{
		"q0": len(Q0(events)), "q1": len(Q1(events)), "q2": len(Q2(events)), "q3": len(Q3(events)), "q4": len(Q4(events)), "q5": len(Q5(events)),
		"q6": len(Q6(events)), "q7": len(Q7(events)), "q8": len(Q8(events)), "q9": len(Q9(events)), "q10": len(Q10(events)), "q11": len(Q11(events)),
		"q12": len(Q12(events)), "q14": len(Q14(events)), "q15": len(Q15(events)), "q16": len(Q16(events)), "q17": len(Q17(events)),
		"q18": len(Q18(events)), "q19": len(Q19(events)), "q20": len(Q20(events)), "q21": len(Q21(events)), "q22": len(Q22(events)), "q23": len(Q23(events)),
	} {
		if n == 0 {
			t.Errorf("%s has no rows", name)
		}
		t.Logf("%s: %d rows", name, n)
	}
}
