package main

import (
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// The topics of the example.
const (
	app            = "flights"
	topicFlights   = "flights"
	topicDead      = "flights-dead"
	topicByDest    = "flights-by-destination"
	topicByCarrier = "delays-by-carrier"
)

// Delays sums the arrivals of a carrier.
type Delays struct {
	Flights int64
	Minutes int64 // of arrival delay; early arrivals count against it
}

// topology counts flights by destination, sums delays by carrier, and joins flights with what is known of their aircraft, airline and
// weather. A line that is no flight becomes a dead letter.
func topology(partitions int) *stream.Builder {
	b := stream.New(app)
	dead := stream.DeadLetter(kafka.Sink(topicDead, serde.Bytes, serde.Bytes, kafka.Create(1, 1)))
	flights := b.Source(kafka.Source(topicFlights, serde.Unit, csv), stream.OnError(dead))

	flights.
		GroupBy(func(_ struct{}, f Flight) string { return f.Dest }, stream.Named("by-destination")).
		Count().
		To(kafka.Sink(topicByDest, serde.String, serde.Int64, kafka.Create(partitions, 1)))

	flights.
		Filter(func(_ struct{}, f Flight) bool { return f.Arrived }).
		GroupBy(func(_ struct{}, f Flight) string { return f.Carrier }, stream.Named("by-carrier")).
		Aggregate(func() Delays { return Delays{} }, func(_ string, f Flight, d Delays) Delays {
			d.Flights++
			d.Minutes += int64(f.ArrDelay)
			return d
		}).
		To(kafka.Sink(topicByCarrier, serde.String, serde.JSON[Delays](), kafka.Create(partitions, 1)))
	enrich(b, flights, partitions)
	return b
}
