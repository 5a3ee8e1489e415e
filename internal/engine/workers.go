package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// workers run turns. A runner belongs to one of them, by hash, so that its state stays in that core's cache; an idle worker steals
// from the one with the most waiting.
type workers struct {
	wg sync.WaitGroup
	mu struct {
		sync.Mutex
		queues  [][]*runner
		stopped bool
	}
	work *sync.Cond // there is something in a queue
	idle *sync.Cond // a retired runner's turn has ended
}

// place is where a runner is in the schedule. It is guarded by workers.mu.
type place struct {
	worker  int
	known   bool
	waiting bool // in a queue
	running bool
	retired bool
	again   bool // woken while running
}

// turnTime is how long a worker stays with one runner while others wait.
const turnTime = 5 * time.Millisecond

func newWorkers(n int) *workers {
	w := &workers{}
	w.work, w.idle = sync.NewCond(&w.mu), sync.NewCond(&w.mu)
	w.mu.queues = make([][]*runner, max(1, n))
	for i := range w.mu.queues {
		w.wg.Go(func() { w.run(i) })
	}
	return w
}

// wake makes sure that the runner has a turn after this call.
func (w *workers) wake(r *runner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeLocked(r)
}

func (w *workers) wakeLocked(r *runner) {
	p := &r.place
	if !p.known {
		p.known = true
		p.worker = int(maphash.String(seed, r.name) % uint64(len(w.mu.queues)))
	}
	switch {
	case p.running:
		p.again = true
	case !p.waiting && !p.retired && !w.mu.stopped:
		p.waiting = true
		w.mu.queues[p.worker] = append(w.mu.queues[p.worker], r)
		w.work.Signal()
	}
}

var seed = maphash.MakeSeed()

// run is one worker.
func (w *workers) run(i int) {
	for {
		r := w.take(i)
		if r == nil {
			return
		}
		more := true
		for started := time.Now(); more && time.Since(started) < turnTime; {
			more = r.turn()
		}
		w.mu.Lock()
		r.place.running = false
		if r.place.retired {
			w.idle.Broadcast()
		}
		if more || r.place.again {
			r.place.again = false
			w.wakeLocked(r)
		}
		w.mu.Unlock()
	}
}

// take waits for a runner; nil when the workers stop.
func (w *workers) take(i int) *runner {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.mu.stopped {
			return nil
		}
		from := i
		if len(w.mu.queues[i]) == 0 {
			for j, q := range w.mu.queues {
				if len(q) > len(w.mu.queues[from]) {
					from = j
				}
			}
		}
		if q := w.mu.queues[from]; len(q) > 0 {
			r := q[0]
			q[0] = nil
			w.mu.queues[from] = q[1:]
			r.place.waiting, r.place.running = false, true
			return r
		}
		w.work.Wait()
	}
}

// retire takes a runner out of the schedule and waits for its present turn to end.
func (w *workers) retire(r *runner) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.place.retired = true
	for i, q := range w.mu.queues {
		w.mu.queues[i] = slices.DeleteFunc(q, func(o *runner) bool { return o == r })
	}
	for r.place.running {
		w.idle.Wait()
	}
}

// stop ends the workers after their present turns, and reports whether these have ended in time.
func (w *workers) stop(patience time.Duration) bool {
	w.mu.Lock()
	w.mu.stopped = true
	w.work.Broadcast()
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}
