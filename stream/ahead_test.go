package stream_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// lookedAhead is a serde that counts the keys it encodes of records that are not at hand yet.
type lookedAhead struct {
	serde.Serde[int64]
	hand  *int64 // key of the record at hand
	ahead *int
}

func (s lookedAhead) Append(dst []byte, k int64) ([]byte, error) {
	if k > *s.hand {
		*s.ahead++
	}
	return s.Serde.Append(dst, k)
}

// Each operator that keeps a row per key has rows on the way before their records are at hand, once there is so much of them that it
// matters. What may drop a record or change its key hides those behind it.
func TestStateIsFetchedAhead(t *testing.T) {
	const n = 40_000
	type flow = *stream.Stream[int64, int64]
	sum := func(a, b int64) int64 { return a + b }
	count := func(s flow) { drain(s.GroupByKey().Count().ToStream()) }
	table := func(s flow, name string) *stream.Table[int64, int64] {
		return s.ToTable(stream.OnUpdate, stream.Named(name))
	}
	for name, c := range map[string]struct {
		build func(s flow)
		not   bool
	}{
		"count":      {build: count},
		"map values": {build: func(s flow) { count(s.MapValues(func(v int64) int64 { return v + 1 })) }},
		"peek":       {build: func(s flow) { count(s.Peek(func(int64, int64) {})) }},
		"two":        {build: func(s flow) { count(s); drain(s) }},
		"tumbling":   {build: func(s flow) { drain(s.GroupByKey().Window(window.Tumbling(time.Hour)).Count().ToStream()) }},
		"hopping": {build: func(s flow) {
			drain(s.GroupByKey().Window(window.Hopping(10*time.Hour, time.Hour)).Count().ToStream())
		}},
		"hopping, a row per window": {build: func(s flow) {
			drain(s.GroupByKey().Window(window.Hopping(2*time.Hour, time.Hour)).Count(stream.OnUpdate).ToStream())
		}},
		"session": {build: func(s flow) { drain(s.GroupByKey().Session(window.Session(time.Hour)).Count().ToStream()) }},
		"cogroup, its second stream": {build: func(s flow) {
			add := func(_, v, r int64) int64 { return r + v }
			hidden := s.Filter(func(int64, int64) bool { return true })
			drain(hidden.GroupByKey().Cogroup(add).And(s.GroupByKey(), add).Aggregate(func() int64 { return 0 }).ToStream())
		}},
		"join":     {build: func(s flow) { drain(s.Join(s, window.Within(time.Hour), sum)) }},
		"to table": {build: func(s flow) { drain(table(s, "t").ToStream()) }},
		"behind a table": {build: func(s flow) {
			drain(table(s, "t").Join(table(s, "u"), sum).ToStream())
		}},
		"process": {build: func(s flow) {
			drain(s.ProcessValues(func(p *stream.Processor[int64, int64, int64]) func(stream.Record[int64, int64]) error {
				last, all := p.Value("last", serde.Int64), p.List("all", serde.Int64)
				return func(r stream.Record[int64, int64]) error {
					all.Append(r.Value)
					last.Set(r.Value)
					return nil
				}
			}))
		}},
		"filter":     {not: true, build: func(s flow) { count(s.Filter(func(int64, int64) bool { return true })) }},
		"select key": {not: true, build: func(s flow) { count(s.SelectKey(func(k, _ int64) int64 { return k })) }},
		"nothing":    {not: true, build: func(s flow) { drain(s) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, hand, ahead := stream.New("ahead"), int64(-1), 0
			in := b.Source(flood{"in", n, func(i int, r *stream.Record[int64, int64]) {
				r.Key, r.Value, r.Time = int64(i), int64(i), millennium.Add(time.Duration(i)*time.Millisecond)
			}}).KeySerde(lookedAhead{serde.Int64, &hand, &ahead})
			c.build(in.Peek(func(k, _ int64) { hand = k }))
			app, err := b.Build(stream.Config{State: state.InMemory(), MemoryBytes: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.not && ahead > 0:
				t.Errorf("%d keys were encoded before their records were at hand", ahead)
			case !c.not && ahead < n/8:
				t.Errorf("%d keys of %d were encoded before their records were at hand", ahead, n)
			}
		})
	}
}

// Behind an exchange as well, within the process or through the cluster.
func TestStateIsFetchedAheadBehindAnExchange(t *testing.T) {
	const n = 40_000
	for name, config := range map[string]stream.Config{
		"local": {Exchange: stream.Local},
		"Kafka": {Exchange: stream.Kafka, Cluster: &memory.Cluster{AutoCreate: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b, hand, ahead := stream.New("ahead"), int64(-1), 0
			done := make(chan struct{})
			in := b.Source(flood{"in", n, func(i int, r *stream.Record[int64, int64]) {
				r.Key, r.Time = int64(i), millennium.Add(time.Duration(i)*time.Millisecond)
			}})
			s := in.Repartition(stream.Partitions(1)).KeySerde(lookedAhead{serde.Int64, &hand, &ahead}).Peek(func(k, _ int64) {
				if hand = k; k == n-1 {
					close(done)
				}
			})
			drain(s.GroupByKey().Count().ToStream())
			config.State, config.MemoryBytes, config.Logger = state.InMemory(), 1<<30, slog.New(slog.DiscardHandler)
			app, err := b.Build(config)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- app.Run(context.Background()) }()
			<-done
			if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
				t.Fatal(err)
			}
			if ahead < n/8 {
				t.Errorf("%d keys of %d were encoded before their records were at hand", ahead, n)
			}
		})
	}
}
