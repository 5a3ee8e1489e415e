package registry

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/serde"
)

// maxUnknown bounds the negative cache: a stream of garbage names a new id in every record.
const maxUnknown = 1024

// A cache holds answers that never change, remembers for a while what the registry did not know, and lets one caller
// ask for a key while others wait for the answer.
type cache struct {
	disk     *disk // nil: memory only
	ttl      time.Duration
	counters *counters

	ids   atomic.Pointer[map[int]serde.Schema] // what was asked for by id, once more: a look-up is a load and a map access
	known sync.Map                             // key → answer

	mu struct {
		sync.Mutex
		unknown map[string]absence
		flights map[string]*flight
	}
}

// An absence is a remembered "no".
type absence struct {
	err   error
	until time.Time
}

// A flight is one request that several callers wait for.
type flight struct {
	done   chan struct{}
	answer answer
	err    error
}

func newCache(d *disk, ttl time.Duration, n *counters) *cache {
	c := &cache{disk: d, ttl: ttl, counters: n}
	c.mu.unknown = map[string]absence{}
	c.mu.flights = map[string]*flight{}
	return c
}

// id returns a schema that was asked for before.
func (c *cache) id(id int) (serde.Schema, bool) {
	if m := c.ids.Load(); m != nil {
		if s, ok := (*m)[id]; ok {
			c.counters.hits.Add(1)
			return s, true
		}
	}
	return serde.Schema{}, false
}

// putID makes the next call of id find a schema. It copies the map: there are few schemas and many look-ups.
func (c *cache) putID(id int, s serde.Schema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[int]serde.Schema{id: s}
	if m := c.ids.Load(); m != nil {
		maps.Copy(next, *m)
	}
	c.ids.Store(&next)
}

// get returns the answer for key, asking for it by fetch when it is not known. absent reports whether an error is
// to be remembered. A caller whose ctx ends stops waiting; the flight goes on for the others.
func (c *cache) get(ctx context.Context, key string, fetch func() (answer, error), absent func(error) bool) (answer, error) {
	if a, ok := c.known.Load(key); ok {
		c.counters.hits.Add(1)
		return a.(answer), nil
	}
	f, mine, err := c.join(key)
	if err != nil {
		return answer{}, err
	}
	if mine {
		go c.fly(key, f, fetch, absent) // ends with fetch, which is bounded by the client's call time-out
	}
	select {
	case <-f.done:
		return f.answer, f.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// join finds the flight for key, or starts one, or finds the remembered refusal.
func (c *cache) join(key string) (f *flight, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if no, ok := c.mu.unknown[key]; ok {
		if time.Now().Before(no.until) {
			c.counters.negativeHits.Add(1)
			return nil, false, no.err
		}
		delete(c.mu.unknown, key)
	}
	if f := c.mu.flights[key]; f != nil {
		return f, false, nil
	}
	f = &flight{done: make(chan struct{})}
	c.mu.flights[key] = f
	return f, true, nil
}

// fly fetches, remembers and tells those who wait.
func (c *cache) fly(key string, f *flight, fetch func() (answer, error), absent func(error) bool) {
	if a, ok := c.disk.load(key); ok {
		c.counters.diskHits.Add(1)
		f.answer = a
		c.known.Store(key, a)
	} else {
		c.counters.misses.Add(1)
		f.answer, f.err = fetch()
		if f.err == nil {
			c.put(key, f.answer)
		}
	}
	c.mu.Lock()
	delete(c.mu.flights, key)
	if f.err != nil && absent(f.err) && c.ttl > 0 {
		c.forget(key, f.err)
	}
	c.mu.Unlock()
	close(f.done)
}

// forget remembers a refusal. The caller holds the lock.
func (c *cache) forget(key string, err error) {
	now := time.Now()
	if len(c.mu.unknown) >= maxUnknown {
		for k, no := range c.mu.unknown {
			if now.After(no.until) || len(c.mu.unknown) >= maxUnknown {
				delete(c.mu.unknown, k)
			}
		}
	}
	c.mu.unknown[key] = absence{err: err, until: now.Add(c.ttl)}
}

// put remembers an answer. A disk that fails costs a request after the next restart, and nothing else.
func (c *cache) put(key string, a answer) {
	c.known.Store(key, a)
	c.mu.Lock()
	delete(c.mu.unknown, key)
	c.mu.Unlock()
	if err := c.disk.store(key, a); err != nil {
		c.counters.diskFailures.Add(1)
	}
}
