package nexmark

import (
	"context"
	"encoding"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/connector"
)

// Partitions share the events out: together they have each one once, and each is in order.
func TestSourceSharesOut(t *testing.T) {
	const count, partitions = 3000, 3
	g := event.New(event.Config{})
	src := Source(g, count, partitions)
	seen := map[int64]bool{}
	for p := range partitions {
		last := int64(0)
		for r := range read(t, src, p, "") {
			var want event.Event
			n := r.Origin.Offset*partitions + int64(p)
			g.Event(uint64(n), &want)
			if seen[n] || !reflect.DeepEqual(r.Value, want) || r.Time.UnixMilli() != want.Time() || !r.NoKey {
				t.Fatalf("event %d came as %+v, twice: %v", n, r, seen[n])
			}
			if seen[n] = true; want.Time() < last {
				t.Fatalf("event %d is out of order", n)
			}
			last = want.Time()
		}
	}
	if len(seen) != count {
		t.Errorf("%d events, want %d", len(seen), count)
	}
}

func read[K, V any](t *testing.T, src connector.Source[K, V], partition int, from connector.Position) func(func(connector.Record[K, V]) bool) {
	return func(yield func(connector.Record[K, V]) bool) {
		reader, err := src.Open(context.Background(), connector.Env{}, partition, from)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reader.Close() }()
		for {
			b, err := reader.Next(context.Background())
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Len() {
				var r connector.Record[K, V]
				if err := b.Decode(i, &r); err != nil {
					t.Fatal(err)
				}
				if !yield(r) {
					return
				}
			}
			b.Release()
		}
	}
}

type binary interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// What is stored comes back whole, and a byte less is an error.
func TestStoredTypes(t *testing.T) {
	ranks := answer.Ranks{Total: 1, Rank1: 2, Rank2: 3, Rank3: 4}
	for _, v := range []binary{
		&bidderAuction{1, -2}, &dayID{3, 4}, &channelDay{"c", 5}, &channelDayID{channelDay{"c", 6}, 7},
		&categoryPrice{10, 99}, &mean{8, 9}, &sale{1, 2, 3, 4}, &sighting{1, 0, "n"}, &tally{1, 2, 3, 4},
		&sums{ranks, ranks, 5}, &prices{tally{1, 2, 3, 4}, 5, 6, 7},
	} {
		b, err := v.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface().(binary)
		if err := back.UnmarshalBinary(b); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%+v came back as %+v, %v", v, back, err)
		}
		if back.UnmarshalBinary(b[:len(b)-1]) == nil || back.UnmarshalBinary(append(b, 0)) == nil {
			t.Errorf("%T takes another length", v)
		}
	}
}

// The functions of queries without state, against what package answer says.
func TestFunctions(t *testing.T) {
	events := event.New(event.Config{}).First(5000)
	var ids []answer.Row21
	for e := range events {
		if e.Kind != event.IsBid {
			continue
		}
		if id, ok := channelID(e.Bid); ok {
			ids = append(ids, answer.Row21{Auction: e.Bid.Auction, Bidder: e.Bid.Bidder, Price: e.Bid.Price, Channel: e.Bid.Channel, ChannelID: id})
		}
	}
	if want := answer.Q21(events); !reflect.DeepEqual(ids, want) {
		t.Errorf("%d bids with a channel id, want %d", len(ids), len(want))
	}
	for hour, want := range []string{0: "nightTime", 6: "nightTime", 7: "otherTime", 8: "dayTime", 18: "dayTime", 19: "otherTime", 20: "nightTime", 23: "nightTime"} {
		if got := timeType(int64(hour) * 3_600_000); want != "" && got != want {
			t.Errorf("hour %d is %s, want %s", hour, got, want)
		}
	}
	for _, c := range []struct{ url, id string }{
		{"channel_id=5&x", "5"}, {"a?b&channel_id=6", "6"}, {"a&channel_id=&b", ""}, {"a&channel_id=1&channel_id=2", "1"},
	} {
		if id, ok := channelID(event.Bid{URL: c.url}); !ok || id != c.id {
			t.Errorf("%s has channel id %q, %v", c.url, id, ok)
		}
	}
	if _, ok := channelID(event.Bid{URL: "a?channel_id=5"}); ok {
		t.Error("a channel id behind a ? was taken")
	}
}

// A table's sum follows its rows: what was added and taken back leaves nothing.
func TestSumsFollowRows(t *testing.T) {
	b := func(price, at int64) event.Bid { return event.Bid{Price: price, Time: at} }
	before := count(0, b(5, 60_000), newTally())
	after := count(0, b(5_000_000, 0), before)
	s := addTally(0, after, takeTally(0, before, addTally(0, before, newSums())))
	want := sums{answer.Ranks{Total: 2, Rank1: 1, Rank3: 1}, answer.Ranks{Total: 1, Rank1: 1, Rank3: 1}, 1}
	if s != want {
		t.Errorf("sums = %+v, want %+v", s, want)
	}
	if s = takeTally(0, after, s); s != (sums{Minute: 1}) {
		t.Errorf("without rows there is %+v", s)
	}
}

func TestQueriesAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, q := range Queries() {
		if names[q.Name] || q.Title == "" || q.Build == nil {
			t.Errorf("%+v", q)
		}
		names[q.Name] = true
	}
	if len(names) != 24 {
		t.Errorf("%d queries, want q0 to q23", len(names))
	}
}
