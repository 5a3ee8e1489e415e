package main

import (
	"fmt"
	"strings"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// The topics of flights with their aircraft.
const (
	topicPlanes         = "planes"   // by tail number
	topicAirlines       = "airlines" // by code
	topicByManufacturer = "flights-by-manufacturer"
	topicByAirline      = "flights-by-airline"
)

// A Plane is a line of planes.csv behind its tail number.
type Plane struct{ Manufacturer, Model string }

// parsePlane reads a line of planes.csv.
func parsePlane(line string) (tail string, p Plane, err error) {
	c := strings.Split(line, ",")
	if len(c) != 9 {
		return "", p, fmt.Errorf("a plane has 9 columns, this line has %d", len(c))
	}
	return c[0], Plane{Manufacturer: c[3], Model: c[4]}, nil
}

// unknown is the manufacturer of flights whose aircraft is not in the file.
const unknown = "unknown"

// withAircraft counts flights by the manufacturer of their aircraft, a table, and by the name of their airline, a table of which every
// process holds the whole.
func withAircraft() *stream.Builder {
	b := stream.New("flights-aircraft")
	planes := b.Table(kafka.Source(topicPlanes, serde.String, serde.JSON[Plane]()))
	airlines := b.Global(kafka.Source(topicAirlines, serde.String, serde.String))
	flights := b.Source(kafka.Source("flights", serde.Unit, csv), stream.OnError(stream.Skip))

	flights.
		SelectKey(func(_ struct{}, f Flight) string { return f.Tail }).
		LeftJoinTable(planes, func(_ Flight, p Plane, ok bool) string {
			if !ok {
				return unknown
			}
			return p.Manufacturer
		}).
		GroupBy(func(_ string, manufacturer string) string { return manufacturer }, stream.Named("by-manufacturer")).
		Count().
		To(kafka.Sink(topicByManufacturer, serde.String, serde.Int64))

	flights.
		JoinGlobal(airlines, func(_ struct{}, f Flight) (string, bool) { return f.Carrier, true }, func(_ Flight, name string) string { return name }).
		GroupBy(func(_ struct{}, name string) string { return name }, stream.Named("by-airline")).
		Count().
		To(kafka.Sink(topicByAirline, serde.String, serde.Int64))
	return b
}
