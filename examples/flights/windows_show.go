package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// showWindows runs the topology of windows over the flights that are loaded, and prints what came out once all windows have closed: nothing
// comes any more, so they close by the clock. Then it sends the first flight again, which is late for all of them.
func showWindows(ctx context.Context, o options, out, progress io.Writer) error {
	fmt.Fprintln(progress, "windows by scheduled time")
	want, err := scheduled(ctx, o.brokers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, sent := make(chan error, 1), false
	go func() {
		ended <- serve(ctx, o, inWindows(time.Hour, stream.ClockWhenIdle(), stream.IdleAfter(time.Second)))
	}()
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case err := <-ended:
			tick.Stop()
			return errors.Join(err, errors.New("the app ended before its windows"))
		case <-tick.C:
		}
		got, err := readWindows(ctx, o.brokers)
		if err == nil && !got.complete(want) {
			continue
		}
		if err == nil && !sent {
			sent = true
			if err = want.again(ctx, o.brokers); err == nil {
				continue
			}
		}
		tick.Stop()
		cancel()
		if err = errors.Join(err, <-ended); err == nil {
			got.print(out, want)
		}
		return err
	}
}

// A plan is what is in the input.
type plan struct {
	first          string // line
	flights, tails int64
	malformed      []string
	last           map[string]time.Time // flight of a carrier
}

// scheduled reads the input.
func scheduled(ctx context.Context, brokers []string) (*plan, error) {
	p := &plan{last: map[string]time.Time{}}
	return p, each(ctx, brokers, topicFlights, func(r *kgo.Record) error {
		f, err := parse(string(r.Value))
		if err != nil {
			p.malformed = append(p.malformed, fmt.Sprintf("%.40q: %v", r.Value, err))
			return nil
		}
		p.add(f)
		if f.Scheduled.After(p.last[f.Carrier]) {
			p.last[f.Carrier] = f.Scheduled
		}
		return nil
	})
}

func (p *plan) add(f Flight) {
	if p.flights++; f.Tail != "" {
		p.tails++
	}
	if p.first == "" {
		p.first = f.line
	}
}

// again sends the first flight once more.
func (p *plan) again(ctx context.Context, brokers []string) error {
	f, err := parse(p.first)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	p.add(f)
	return client.ProduceSync(ctx, &kgo.Record{Topic: topicFlights, Value: []byte(p.first)}).FirstErr()
}

// windows are the rows of the topics of windows.
type windows struct {
	hours    map[window.Key[string]]int64
	days     map[window.Key[string]]Day
	sessions map[window.Key[string]]int64
	late     map[string][]string // by what they were late for
}

func readWindows(ctx context.Context, brokers []string) (*windows, error) {
	w := &windows{map[window.Key[string]]int64{}, map[window.Key[string]]Day{}, map[window.Key[string]]int64{}, map[string][]string{}}
	keys := serde.Windowed(serde.String)
	counts := func(topic string, to map[window.Key[string]]int64) error {
		return each(ctx, brokers, topic, func(r *kgo.Record) error {
			k, err := keys.Decode(r.Key)
			if err == nil {
				to[k], err = serde.Int64.Decode(r.Value)
			}
			return err
		})
	}
	err := errors.Join(counts(topicHours, w.hours), counts(topicSessions, w.sessions))
	err = errors.Join(err, each(ctx, brokers, topicDays, func(r *kgo.Record) error {
		k, err := keys.Decode(r.Key)
		var d Day
		if err == nil {
			err = json.Unmarshal(r.Value, &d)
			w.days[k] = d
		}
		return err
	}))
	for _, topic := range []string{topicHours, topicDays, topicSessions} {
		err = errors.Join(err, each(ctx, brokers, topicLate+topic, func(r *kgo.Record) error {
			w.late[topic] = append(w.late[topic], string(r.Value))
			return nil
		}))
	}
	return w, err
}

// complete reports whether every flight is in its hour and its session, or was late for it, and the last day of each carrier is there.
func (w *windows) complete(p *plan) bool {
	hours, sessions := int64(len(w.late[topicHours])), int64(len(w.late[topicSessions]))
	for _, n := range w.hours {
		hours += n
	}
	for _, n := range w.sessions {
		sessions += n
	}
	for carrier, t := range p.last {
		from := t.Truncate(hop)
		if _, there := w.days[window.Key[string]{Key: carrier, Span: window.NewSpan(from, from.Add(day))}]; !there {
			return false
		}
	}
	return hours == p.flights && sessions == p.tails
}

func (w *windows) print(out io.Writer, p *plan) {
	const minute = "2006-01-02 15:04"
	at := func(k window.Key[string]) string { return k.Span.Start().Format(minute) }
	k, n := most(w.hours, func(n int64) float64 { return float64(n) })
	fmt.Fprintf(out, "\n%d hours of airports; the busiest: %s at %s, %d departures\n", len(w.hours), k.Key, at(k), n)
	k, d := most(w.days, func(d Day) float64 { return d.MeanDelay() })
	fmt.Fprintf(out, "%d days of carriers, one every 6 h; the worst: %s from %s, %.0f minutes late on average of %d arrivals\n",
		len(w.days), k.Key, at(k), d.MeanDelay(), d.Arrived)
	k, n = most(w.sessions, func(n int64) float64 { return float64(n) })
	fmt.Fprintf(out, "%d sessions of aircraft, 6 h of rest between them; the busiest: %s from %s, %d departures in %v\n",
		len(w.sessions), k.Key, at(k), n, k.Span.Duration().Round(time.Minute))
	late := w.late[topicHours]
	fmt.Fprintf(out, "late: %d flights for their hour, %d for their day, %d for their session\n",
		len(late), len(w.late[topicDays]), len(w.late[topicSessions]))
	if len(late) > 0 {
		fmt.Fprintf(out, "  such as %s\n", late[0])
	}
	fmt.Fprintf(out, "malformed: %d lines\n", len(p.malformed))
	for _, m := range p.malformed[:min(3, len(p.malformed))] {
		fmt.Fprintf(out, "  %s\n", m)
	}
}

// most is the row with the greatest measure, of those that are as great the earliest.
func most[V any](rows map[window.Key[string]]V, measure func(V) float64) (best window.Key[string], v V) {
	found := false
	for k, x := range rows {
		a, b := measure(x), measure(v)
		if !found || a > b || a == b && (k.Span.Compare(best.Span) < 0 || k.Span == best.Span && k.Key < best.Key) {
			best, v, found = k, x, true
		}
	}
	return best, v
}
