package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

// Results are the committed rows of the output topics, read by a client that weir did not write.
type Results struct {
	Lines        int64             `json:"lines"`
	Flights      int64             `json:"flights"`
	Dead         int64             `json:"dead"`
	Destinations map[string]int64  `json:"destinations"`
	Carriers     map[string]Delays `json:"carriers"`
	enriched
}

// read reads the output topics as a read_committed consumer does.
func read(ctx context.Context, brokers []string, lines int64) (*Results, error) {
	r := &Results{Lines: lines, Destinations: map[string]int64{}, Carriers: map[string]Delays{}}
	if err := r.enriched.read(ctx, brokers); err != nil {
		return nil, err
	}
	err := each(ctx, brokers, topicByDest, func(rec *kgo.Record) (err error) {
		r.Destinations[string(rec.Key)], err = serde.Int64.Decode(rec.Value)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, brokers, topicByCarrier, func(rec *kgo.Record) error {
		var d Delays
		err := json.Unmarshal(rec.Value, &d)
		r.Carriers[string(rec.Key)] = d
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, brokers, topicDead, func(*kgo.Record) error { r.Dead++; return nil })
	for _, n := range r.Destinations {
		r.Flights += n
	}
	return r, err
}

// each calls f for every committed record of a topic, up to its end as it is now.
func each(ctx context.Context, brokers []string, topic string, f func(*kgo.Record) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the end of a partition may be markers
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		return err
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%s: %w", topic, err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, rec := range p.Records {
				if err == nil && !rec.Attrs.IsControl() {
					err = f(rec)
				}
				if rec.Offset+1 >= left[p.Partition] {
					delete(left, p.Partition)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// print shows the results as tables.
func (r *Results) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d lines: %d flights, %d dead letters\n", r.Lines, r.Flights, r.Dead)
	fmt.Fprintf(w, "\n  %-12s %9s\n", "destination", "flights")
	top := slices.SortedFunc(maps.Keys(r.Destinations), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Destinations[b], r.Destinations[a]), cmp.Compare(a, b))
	})
	for _, dest := range top[:min(10, len(top))] {
		fmt.Fprintf(w, "  %-12s %9d\n", dest, r.Destinations[dest])
	}
	fmt.Fprintf(w, "\n  %-12s %9s %22s\n", "carrier", "arrivals", "average delay, minutes")
	carriers := slices.SortedFunc(maps.Keys(r.Carriers), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Carriers[b].Flights, r.Carriers[a].Flights), cmp.Compare(a, b))
	})
	for _, c := range carriers {
		d := r.Carriers[c]
		fmt.Fprintf(w, "  %-12s %9d %22.1f\n", c, d.Flights, float64(d.Minutes)/float64(d.Flights))
	}
	r.enriched.print(w)
}
