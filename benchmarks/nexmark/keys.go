package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
)

// Keys of two parts. They marshal themselves because a key is encoded for every record, and JSON would cost more than the query.
// Those of results say what package answer calls them.

// A bidderAuction is a bidder and an auction.
type bidderAuction struct{ Bidder, Auction int64 }

func (k bidderAuction) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, k.Bidder, k.Auction), nil
}

func (k bidderAuction) answer() any {
	return answer.BidderAuction{Bidder: k.Bidder, Auction: k.Auction}
}

func (k *bidderAuction) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Bidder, k.Auction = r.Int(), r.Int()
	return r.End()
}

// A dayID is a day and something counted in it.
type dayID struct {
	Day day
	ID  int64
}

func (k dayID) AppendBinary(b []byte) ([]byte, error) { return fields.Ints(b, int64(k.Day), k.ID), nil }

// answer is that of query 17, which counts auctions.
func (k dayID) answer() any { return answer.AuctionDay{Auction: k.ID, Day: date(k.Day)} }

func (k *dayID) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.ID = day(r.Int()), r.Int()
	return r.End()
}

// A channelDay is a channel and a day.
type channelDay struct {
	Channel string
	Day     day
}

func (k channelDay) AppendBinary(b []byte) ([]byte, error) {
	return fields.Strings(fields.Ints(b, int64(k.Day)), k.Channel), nil
}

func (k channelDay) answer() any { return answer.ChannelDay{Channel: k.Channel, Day: date(k.Day)} }

func (k *channelDay) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.Channel = day(r.Int()), r.String()
	return r.End()
}

// A channelDayID is something counted in a channel and a day.
type channelDayID struct {
	channelDay
	ID int64
}

func (k channelDayID) AppendBinary(b []byte) ([]byte, error) {
	return fields.Strings(fields.Ints(b, int64(k.Day), k.ID), k.Channel), nil
}

func (k *channelDayID) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.ID, k.Channel = day(r.Int()), r.Int(), r.String()
	return r.End()
}

const dayMillis = 24 * 60 * 60 * 1000

// A day of UTC, numbered from 1970 on.
type day int64

func (d day) answer() any { return date(d) }

func dayOf(ms int64) day { return day(ms / dayMillis) }

// date is SQL's DATE_FORMAT of a day.
func date(d day) string { return time.UnixMilli(int64(d) * dayMillis).UTC().Format(time.DateOnly) }
