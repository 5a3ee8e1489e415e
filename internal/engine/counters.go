package engine

import (
	"strings"
	"sync"
	"sync/atomic"
)

// counters counts for metrics, and for tests that ask whether anything was dropped.
type counters struct {
	mu     sync.Mutex
	values map[string]*atomic.Int64
}

// get returns the function that adds to one counter.
func (c *counters) get(config *Config, name string, labels []string) func(int64) {
	key := name + "{" + strings.Join(labels, ",") + "}"
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]*atomic.Int64{}
	}
	v := c.values[key]
	if v == nil {
		v = &atomic.Int64{}
		c.values[key] = v
	}
	if config.Counter == nil {
		return func(n int64) { v.Add(n) }
	}
	outside := config.Counter(name, labels...)
	return func(n int64) {
		v.Add(n)
		outside(n)
	}
}

// all is a snapshot by name{label,value,…}.
func (c *counters) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int64{}
	for k, v := range c.values {
		out[k] = v.Load()
	}
	return out
}
