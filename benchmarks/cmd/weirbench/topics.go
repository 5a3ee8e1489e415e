package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
	suite "github.com/weirstream/weir/benchmarks/nexmark"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// betweenTopics are the queries that run from topic to topic. Those with windows need events behind the last window to close it.
var (
	betweenTopics = strings.Fields("q0 q2 q3 q4 q5 q7 q8 q11 q20")
	windowed      = strings.Fields("q5 q7 q8 q11")
)

// nexmarkTopics runs queries from a topic of four partitions to a topic, exactly-once. The rows must be, byte by byte, those of a run in
// process, which package answer vouches for.
func nexmarkTopics(ctx context.Context, c *invocation, events int, queries string) error {
	wanted := betweenTopics
	if queries != "" {
		wanted = strings.Split(queries, ",")
	}
	temp, err := os.MkdirTemp("", "weirbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if c.logs == "" {
		c.logs = temp
	}
	systems, err := build(ctx, c.root, temp, func(name string) bool { return name == "weir" })
	if err != nil {
		return err
	}
	b, err := broker.Start(c.root, "")
	if err != nil {
		return err
	}
	defer b.Close()
	g := event.New(event.Config{})
	s := &report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine(), Notes: []string{
		fmt.Sprintf("topic of four partitions to topic, exactly-once, a checkpoint every second, state in Pebble; %d events, a third of them for warming up", events),
		"rows are those of a run in process byte by byte; repartitioning goes through topics"}}
	for _, q := range suite.Queries() {
		if !slices.Contains(wanted, q.Name) || ctx.Err() != nil {
			continue
		}
		group, err := queryTopics(ctx, &bench{broker: b, temp: temp, logs: c.logs}, g, q, int64(events), systems, c.rounds)
		if err != nil {
			return err
		}
		s.Groups = append(s.Groups, group)
	}
	return c.finish(s, "Nexmark from topic to topic, exactly-once: CPU per event of the whole process")
}

func queryTopics(ctx context.Context, b *bench, g *event.Generator, q suite.Query, events int64, systems map[string]system, rounds int) (report.Group, error) {
	want, err := suite.Expect(ctx, q, g, uint64(events))
	if err != nil {
		return report.Group{}, err
	}
	const partitions = 4
	b.load = broker.Load{Topic: fmt.Sprintf("nexmark-%s-%d", q.Name, os.Getpid()), Partitions: partitions, Records: events}
	if slices.Contains(windowed, q.Name) {
		b.load.Records += partitions
	}
	b.options = options{warm: events / 3, records: events - events/3}
	if err := b.broker.LoadEvents(ctx, b.load.Topic, partitions, encoded(g, events, b.load.Records)); err != nil {
		return report.Group{}, err
	}
	defer func() { _ = b.broker.DeleteTopics(context.WithoutCancel(ctx), b.load.Topic) }()
	check := func(ctx context.Context, out string) (int64, error) {
		got := want.Beside()
		err := b.broker.ReadRows(ctx, out, func(key, value []byte) bool {
			got.Add(key, value)
			return got.Complete()
		})
		if wrong := got.Check(); wrong != nil {
			err = wrong
		}
		return got.Count(), err
	}
	j := job{name: "nexmark-" + q.Name, title: q.Name + ", " + q.Title, suite: "nexmark", query: q.Name, guarantee: "eos", systems: []string{"weir"},
		commit: time.Second, check: check}
	return b.group(ctx, j, systems, rounds), nil
}

// encoded yields the first events, and up to all one more for each partition: a bid a day later.
func encoded(g *event.Generator, events, all int64) func(yield func(broker.Event) bool) {
	return func(yield func(broker.Event) bool) {
		for n := range all {
			var e event.Event
			at := g.Time(uint64(n))
			if g.Event(uint64(n), &e); n >= events {
				at += (24 * time.Hour).Milliseconds()
				e = event.Event{Kind: event.IsBid, Bid: event.Bid{Auction: -1, Bidder: -1, Time: at}}
			}
			value, err := e.AppendBinary(nil)
			if err != nil {
				panic(err) // the generator makes whole events
			}
			if !yield(broker.Event{Partition: int(n % 4), Value: value, Time: time.UnixMilli(at)}) {
				return
			}
		}
	}
}
