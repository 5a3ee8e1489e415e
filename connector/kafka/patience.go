package kafka

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// A backoff waits longer each time, up to two seconds, with some chance in it so that many do not come back at once. It begins again
// with a short wait when it has not been needed for a while: what looks like success may fail again a moment later.
type backoff struct {
	next time.Duration
	last time.Time
}

const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 2 * time.Second
	backoffCalm  = 10 * time.Second
)

func newBackoff() *backoff { return &backoff{next: backoffFirst} }

// take is the next wait.
func (b *backoff) take() time.Duration {
	now := time.Now()
	if now.Sub(b.last) > backoffCalm {
		b.next = backoffFirst
	}
	d := b.next/2 + rand.N(b.next)
	b.next = min(2*b.next, backoffMost)
	b.last = now.Add(d)
	return d
}

// sleep waits, but not past a time (unless it is zero) or ctx's end, and reports whether ctx goes on.
func (b *backoff) sleep(ctx context.Context, until time.Time) bool {
	d := b.take()
	if !until.IsZero() {
		d = min(d, time.Until(until))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sometimes lets a message through that many may cause at once: the first, and then one in a while of the same kind and broker, with
// how many were left out.
type sometimes struct {
	mu struct {
		sync.Mutex
		last map[string]time.Time
		left map[string]int
	}
}

const sometimesEvery = 5 * time.Second

func (s *sometimes) warn(log *slog.Logger, message, broker string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.last == nil {
		s.mu.last, s.mu.left = make(map[string]time.Time), make(map[string]int)
	}
	key := message + broker
	if time.Since(s.mu.last[key]) < sometimesEvery {
		s.mu.left[key]++
		return
	}
	log.Warn("kafka: "+message, append([]any{"broker", broker, "repeated", s.mu.left[key]}, args...)...)
	s.mu.last[key], s.mu.left[key] = time.Now(), 0
}
