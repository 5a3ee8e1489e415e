package event

import (
	"fmt"

	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
)

// AppendBinary implements encoding.BinaryAppender.
func (p Person) AppendBinary(b []byte) ([]byte, error) {
	b = fields.Ints(b, p.ID, p.Time)
	return fields.Strings(b, p.Name, p.Email, p.CreditCard, p.City, p.State, p.Extra), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (p *Person) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	p.ID, p.Time = r.Int(), r.Int()
	p.Name, p.Email, p.CreditCard = r.String(), r.String(), r.String()
	p.City, p.State, p.Extra = r.String(), r.String(), r.String()
	return r.End()
}

// AppendBinary implements encoding.BinaryAppender.
func (a Auction) AppendBinary(b []byte) ([]byte, error) {
	b = fields.Ints(b, a.ID, a.InitialBid, a.Reserve, a.Time, a.Expires, a.Seller, a.Category)
	return fields.Strings(b, a.Item, a.Description, a.Extra), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (a *Auction) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	a.ID, a.InitialBid, a.Reserve = r.Int(), r.Int(), r.Int()
	a.Time, a.Expires, a.Seller, a.Category = r.Int(), r.Int(), r.Int(), r.Int()
	a.Item, a.Description, a.Extra = r.String(), r.String(), r.String()
	return r.End()
}

// AppendBinary implements encoding.BinaryAppender.
func (b Bid) AppendBinary(dst []byte) ([]byte, error) {
	dst = fields.Ints(dst, b.Auction, b.Bidder, b.Price, b.Time)
	return fields.Strings(dst, b.Channel, b.URL, b.Extra), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (b *Bid) UnmarshalBinary(src []byte) error {
	r := fields.Read(src)
	b.Auction, b.Bidder, b.Price, b.Time = r.Int(), r.Int(), r.Int(), r.Int()
	b.Channel, b.URL, b.Extra = r.String(), r.String(), r.String()
	return r.End()
}

// AppendBinary implements encoding.BinaryAppender: the kind, then the thing.
func (e Event) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, byte(e.Kind))
	switch {
	case e.Kind == IsPerson && e.Person != nil:
		return e.Person.AppendBinary(b)
	case e.Kind == IsAuction && e.Auction != nil:
		return e.Auction.AppendBinary(b)
	case e.Kind == IsBid:
		return e.Bid.AppendBinary(b)
	}
	return nil, fmt.Errorf("event: kind %d without its value", e.Kind)
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (e *Event) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return fields.ErrShort
	}
	*e = Event{Kind: Kind(b[0])}
	switch e.Kind {
	case IsPerson:
		e.Person = new(Person)
		return e.Person.UnmarshalBinary(b[1:])
	case IsAuction:
		e.Auction = new(Auction)
		return e.Auction.UnmarshalBinary(b[1:])
	case IsBid:
		return e.Bid.UnmarshalBinary(b[1:])
	}
	return fmt.Errorf("event: unknown kind %d", b[0])
}
