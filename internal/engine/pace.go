package engine

import (
	"context"
	"sync"
	"time"
)

// A pace keeps reading below so many bytes a second, over all who share it. The zero pace has no limit.
type pace struct {
	perSecond int64
	mu        sync.Mutex
	free      time.Time // when what was taken so far is paid for
}

// paceBurst is how much may be taken at once after a quiet time.
const paceBurst = time.Second / 4

// take notes that n bytes were read and returns how long to wait before the next.
func (p *pace) take(now time.Time, n int) time.Duration {
	if p == nil || p.perSecond <= 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-paceBurst); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
	return max(0, p.free.Sub(now))
}

// wait is take, and waits.
func (p *pace) wait(ctx context.Context, n int) error {
	d := p.take(time.Now(), n)
	if d == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
