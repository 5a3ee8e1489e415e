package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// The topics of flights with their aircraft, airline and weather.
const (
	topicPlanes         = "planes"   // by tail number
	topicAirlines       = "airlines" // by code
	topicWeather        = "weather"  // by airport and hour
	topicByManufacturer = "flights-by-manufacturer"
	topicByAirline      = "flights-by-airline"
	topicByVisibility   = "delays-by-visibility"
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

// A Weather is what a line of weather.csv says of an airport's hour.
type Weather struct {
	Visibility float64 // miles
	WindSpeed  float64 // miles per hour; 0 when it is not known
}

// parseWeather reads a line of weather.csv.
func parseWeather(line string) (key string, w Weather, err error) {
	c := strings.Split(line, ",")
	if len(c) != 15 {
		return "", w, fmt.Errorf("the weather has 15 columns, this line has %d", len(c))
	}
	hour, err := time.Parse(time.RFC3339, c[14])
	if err != nil {
		return "", w, fmt.Errorf("time_hour: %w", err)
	}
	if w.Visibility, err = strconv.ParseFloat(c[13], 64); err != nil {
		return "", w, fmt.Errorf("visib: %w", err)
	}
	if c[9] != "NA" {
		if w.WindSpeed, err = strconv.ParseFloat(c[9], 64); err != nil {
			return "", w, fmt.Errorf("wind_speed: %w", err)
		}
	}
	return atHour(c[0], hour), w, nil
}

// atHour is the key of an airport's hour.
func atHour(airport string, t time.Time) string {
	return airport + " " + t.UTC().Truncate(time.Hour).Format(time.RFC3339)
}

// unknown is the manufacturer of flights whose aircraft is not in the file, and the visibility of those whose hour is not.
const unknown = "unknown"

// sight puts visibility into four classes.
func (w Weather) sight() string {
	switch {
	case w.Visibility < 1:
		return "under 1 mile"
	case w.Visibility < 5:
		return "1 to 5 miles"
	case w.Visibility < 10:
		return "5 to 10 miles"
	}
	return "10 miles"
}

// enrich counts flights by the manufacturer of their aircraft, a table, and by the name of their airline, a table of which every
// process holds the whole; and it sums the delays of departures by the visibility at the airport in the hour of the flight, a table too:
// the weather of an hour is one row, so that no window is needed.
func enrich(b *stream.Builder, flights *stream.Stream[struct{}, Flight], partitions int) {
	planes := b.Table(kafka.Source(topicPlanes, serde.String, serde.JSON[Plane]()))
	airlines := b.Global(kafka.Source(topicAirlines, serde.String, serde.String), stream.OnError(stream.Fail))
	weather := b.Table(kafka.Source(topicWeather, serde.String, serde.JSON[Weather]()))

	flights.
		SelectKey(func(_ struct{}, f Flight) string { return f.Tail }).
		LeftJoinTable(planes, func(_ Flight, p Plane, ok bool) string {
			if !ok {
				return unknown
			}
			return p.Manufacturer
		}, stream.Named("with-aircraft")).
		GroupBy(func(_ string, manufacturer string) string { return manufacturer }, stream.Named("by-manufacturer")).
		Count().
		To(kafka.Sink(topicByManufacturer, serde.String, serde.Int64, kafka.Create(partitions, 1)))

	flights.
		JoinGlobal(airlines, func(_ struct{}, f Flight) (string, bool) { return f.Carrier, true }, func(_ Flight, name string) string { return name }).
		GroupBy(func(_ struct{}, name string) string { return name }, stream.Named("by-airline")).
		Count().
		To(kafka.Sink(topicByAirline, serde.String, serde.Int64, kafka.Create(partitions, 1)))

	flights.
		Filter(func(_ struct{}, f Flight) bool { return f.Departed }).
		SelectKey(func(_ struct{}, f Flight) string { return atHour(f.Origin, f.Scheduled) }).
		LeftJoinTable(weather, func(f Flight, w Weather, ok bool) seen {
			if !ok {
				return seen{unknown, f.DepDelay}
			}
			return seen{w.sight(), f.DepDelay}
		}, stream.Named("with-weather")).
		GroupBy(func(_ string, s seen) string { return s.Visibility }, stream.Named("by-visibility")).
		Aggregate(func() Delays { return Delays{} }, func(_ string, s seen, d Delays) Delays {
			return Delays{Flights: d.Flights + 1, Minutes: d.Minutes + int64(s.Delay)}
		}).
		To(kafka.Sink(topicByVisibility, serde.String, serde.JSON[Delays](), kafka.Create(partitions, 1)))
}

// seen is a departure with what could be seen.
type seen struct {
	Visibility string
	Delay      int // minutes
}
