package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
)

// Keys of two parts. They marshal themselves because a key is encoded for every record, and JSON would cost more than the query.

// A bidderAuction is a bidder and an auction.
type bidderAuction struct{ Bidder, Auction int64 }

func (k bidderAuction) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, k.Bidder, k.Auction), nil
}

func (k *bidderAuction) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Bidder, k.Auction = r.Int(), r.Int()
	return r.End()
}

// A dayID is a day and something counted in it.
type dayID struct{ Day, ID int64 }

func (k dayID) AppendBinary(b []byte) ([]byte, error) { return fields.Ints(b, k.Day, k.ID), nil }

func (k *dayID) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.ID = r.Int(), r.Int()
	return r.End()
}

// A channelDay is a channel and a day.
type channelDay struct {
	Channel string
	Day     int64
}

func (k channelDay) AppendBinary(b []byte) ([]byte, error) {
	return fields.Strings(fields.Ints(b, k.Day), k.Channel), nil
}

func (k *channelDay) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.Channel = r.Int(), r.String()
	return r.End()
}

// A channelDayID is something counted in a channel and a day.
type channelDayID struct {
	channelDay
	ID int64
}

func (k channelDayID) AppendBinary(b []byte) ([]byte, error) {
	return fields.Strings(fields.Ints(b, k.Day, k.ID), k.Channel), nil
}

func (k *channelDayID) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	k.Day, k.ID, k.Channel = r.Int(), r.Int(), r.String()
	return r.End()
}

const dayMillis = 24 * 60 * 60 * 1000

// dayOf numbers the days of UTC, from 1970 on.
func dayOf(ms int64) int64 { return ms / dayMillis }

// date is SQL's DATE_FORMAT of a day.
func date(day int64) string { return time.UnixMilli(day * dayMillis).UTC().Format(time.DateOnly) }
