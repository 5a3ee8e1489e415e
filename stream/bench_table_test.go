package stream_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
)

// loaded is a source of all rows, before anything else by time.
func loaded(name string) flood {
	return flood{name, million, func(i int, r *stream.Record[int64, int64]) {
		r.Key, r.Value, r.Time = int64(i), int64(i), millennium
	}}
}

// scattered is a source of n records whose keys are all over the rows, at a time behind them.
func scattered(name string, n int) flood {
	return flood{name, n, func(i int, r *stream.Record[int64, int64]) {
		r.Key, r.Value, r.Time = int64(i)*7_919%million, int64(i), millennium.Add(1)
	}}
}

// updates is how many updates follow the loading of tables: with one alone, which is what the testing package begins and, after a second of
// loading, also ends with, the benchmark would be of rows that are new.
func updates(n int) int { return max(n, 2*million) }

// perCore reports how many records a core's second is enough for, those among them that load tables.
func perCore(b *testing.B, records int, took time.Duration) {
	b.ReportMetric(float64(records)/took.Seconds(), "records/s")
}

// A record looks a row up among a million: 1 M records/s per core are asked for, the loading among them.
func BenchmarkJoinTable(b *testing.B) {
	took := flow(b, func(bl *stream.Builder, n int) {
		drain(bl.Source(scattered("in", n)).JoinTable(bl.Table(loaded("rows")), func(v, row int64) int64 { return v + row }))
	})
	perCore(b, b.N+million, took)
}

// Both tables have a million rows; updates of the left one follow. 300,000 updates/s per core are asked for.
func BenchmarkJoinOfTables(b *testing.B) {
	took := flow(b, func(bl *stream.Builder, n int) {
		left := bl.Source(loaded("left")).Merge(bl.Source(scattered("updates", updates(n)))).ToTable(stream.Named("left-rows"))
		drain(left.Join(bl.Table(loaded("right")), func(v, row int64) int64 { return v + row }).ToStream())
	})
	perCore(b, updates(b.N)+2*million, took)
}

// A million rows name one of 100,000 others; updates of the left one follow. 300,000 updates/s per core are asked for.
func BenchmarkForeignKeyJoin(b *testing.B) {
	took := flow(b, func(bl *stream.Builder, n int) {
		left := bl.Source(loaded("left")).Merge(bl.Source(scattered("updates", updates(n)))).ToTable(stream.Named("left-rows"))
		right := bl.Table(flood{"right", 100_000, loaded("").make})
		drain(left.JoinOn(right, func(k, _ int64) (int64, bool) { return k % 100_000, true }, func(v, row int64) int64 { return v + row }).ToStream())
	})
	perCore(b, updates(b.N)+million+100_000, took)
}

// The same rows without the updates: each is new to every store of the join.
func BenchmarkForeignKeyJoinLoading(b *testing.B) {
	took := flow(b, func(bl *stream.Builder, n int) {
		left := bl.Table(flood{"left", max(n, million), loaded("").make})
		right := bl.Table(flood{"right", 100_000, loaded("").make})
		drain(left.JoinOn(right, func(k, _ int64) (int64, bool) { return k % 100_000, true }, func(v, row int64) int64 { return v + row }).ToStream())
	})
	perCore(b, max(b.N, million)+100_000, took)
}

// Every process loads all rows of a global table: 3 s for a million are asked for.
func BenchmarkGlobal(b *testing.B) {
	took := flow(b, func(bl *stream.Builder, n int) {
		drain(bl.Source(scattered("in", n)).JoinGlobal(bl.Global(loaded("rows")), func(k, _ int64) (int64, bool) { return k, true },
			func(v, row int64) int64 { return v + row }))
	})
	perCore(b, b.N+million, took)
}
