package stream

import (
	"context"
	"time"
)

// Deduplicate drops a record when one with the same key and the same id came at most within before it, in event time.
// Only records of one key are compared: group by the id first where keys differ.
func (s *Stream[K, V]) Deduplicate[ID any](id func(k K, v V) ID, within time.Duration, opts ...Option) *Stream[K, V] {
	notBuilt(s.b, "Stream.Deduplicate", s.node)
	return s
}

// Sample keeps the latest record per key in each period of event time.
func (s *Stream[K, V]) Sample(every time.Duration, opts ...Option) *Stream[K, V] {
	notBuilt(s.b, "Stream.Sample", s.node)
	return s
}

// AsyncMapValues replaces each value by the result of a call that may wait. Calls in flight are part of a checkpoint as the
// records they came from: they are made again after a crash, so f must bear that.
func (s *Stream[K, V]) AsyncMapValues[V2 any](f func(ctx context.Context, k K, v V) (V2, error), how Async, opts ...Option) *Stream[K, V2] {
	return &Stream[K, V2]{b: s.b, node: notBuilt(s.b, "Stream.AsyncMapValues", s.node)}
}

// Async bounds AsyncMapValues.
type Async struct {
	MaxInFlight int           // per task. Default 100
	Timeout     time.Duration // per call; exceeding it is transient. Default 10 s
	GiveUpAfter time.Duration // transient errors become data errors after this. Default 0: never
	Order       Order         // default ByKey
}

// Order is the order of results.
type Order int

// ByKey keeps the order of records of one key, ByInput of all, Unordered of none.
const (
	ByKey Order = iota
	ByInput
	Unordered
)
