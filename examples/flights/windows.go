package main

import (
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// The topics of flights in windows.
const (
	appWindows    = "flights-windows"
	topicHours    = "departures-by-hour" // by airport and hour
	topicDays     = "delays-by-day"      // by carrier and day
	topicSessions = "busy-aircraft"      // by tail number and session
	topicLate     = "flights-late-"      // and one of the three above: what came too late for it
	rest          = 6 * time.Hour        // an aircraft not scheduled for longer has ended its work
	day, hop      = 24 * time.Hour, 6 * time.Hour
)

// A Day is what a carrier did in 24 hours.
type Day struct {
	Scheduled int64
	Arrived   int64
	Minutes   int64 // of arrival delay, of those that arrived
}

// MeanDelay is how many minutes late its flights arrived, 0 when none did.
func (d Day) MeanDelay() float64 {
	if d.Arrived == 0 {
		return 0
	}
	return float64(d.Minutes) / float64(d.Arrived)
}

func (d Day) add(f Flight) Day {
	d.Scheduled++
	if f.Arrived {
		d.Arrived++
		d.Minutes += int64(f.ArrDelay)
	}
	return d
}

// plus is what was done in both times.
func (d Day) plus(o Day) Day {
	return Day{d.Scheduled + o.Scheduled, d.Arrived + o.Arrived, d.Minutes + o.Minutes}
}

// inWindows counts departures per airport and hour, sums delays per carrier over days that begin every six hours, and joins the flights
// of an aircraft to sessions, all by the scheduled time. A month has each day's cancelled flights behind the others, so it is out
// of order by up to a day: with less disorder than that some flights are late, and go to topics of their own.
func inWindows(disorder time.Duration, options ...stream.SourceOption) *stream.Builder {
	b := stream.New(appWindows)
	flights := b.Source(kafka.Source(topicFlights, serde.Unit, csv).Time(func(_ struct{}, f Flight) time.Time { return f.Scheduled }),
		append(options, stream.Disorder(disorder), stream.OnError(stream.Skip))...)
	made := kafka.Create(4, 1)

	hours := flights.
		GroupBy(func(_ struct{}, f Flight) string { return f.Origin }, stream.Named("by-origin")).
		Window(window.Tumbling(time.Hour))
	hours.Count().To(kafka.Sink(topicHours, serde.Windowed(serde.String), serde.Int64, made))
	hours.Late().To(kafka.Sink(topicLate+topicHours, serde.String, csv, made))

	days := flights.
		GroupBy(func(_ struct{}, f Flight) string { return f.Carrier }, stream.Named("by-carrier")).
		Window(window.Hopping(day, hop))
	days.AggregateMerge(func() Day { return Day{} }, func(_ string, f Flight, d Day) Day { return d.add(f) }, func(_ string, a, b Day) Day { return a.plus(b) }).
		To(kafka.Sink(topicDays, serde.Windowed(serde.String), serde.JSON[Day](), made))
	days.Late().To(kafka.Sink(topicLate+topicDays, serde.String, csv, made))

	busy := flights.
		Filter(func(_ struct{}, f Flight) bool { return f.Tail != "" }).
		GroupBy(func(_ struct{}, f Flight) string { return f.Tail }, stream.Named("by-tail")).
		Session(window.Session(rest))
	busy.Count().To(kafka.Sink(topicSessions, serde.Windowed(serde.String), serde.Int64, made))
	busy.Late().To(kafka.Sink(topicLate+topicSessions, serde.String, csv, made))
	return b
}
