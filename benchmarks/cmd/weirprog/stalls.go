package main

import (
	"fmt"
	"sync"
)

// stalls are weir's metrics of which only one is kept: how long each checkpoint kept a task from its input.
type stalls struct {
	mu  sync.Mutex
	all []float64 // milliseconds, since they were printed
}

func (s *stalls) Counter(string, ...string) func(int64) { return func(int64) {} }

func (s *stalls) Gauge(string, ...string) func(float64) { return func(float64) {} }

func (s *stalls) Histogram(name string, _ ...string) func(float64) {
	if name != "weir_task_stall_seconds" {
		return func(float64) {}
	}
	return func(seconds float64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, seconds*1000)
	}
}

// print prints a line for each that is new.
func (s *stalls) print() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ms := range s.all {
		fmt.Printf("stall %.3f\n", ms)
	}
	s.all = s.all[:0]
}
