package engine

import "sync"

// A queue is an unbounded list that many goroutines add to and one takes from. What bounds it is that each adder waits for
// an answer, or has credit, before it adds again.
type queue[T any] struct {
	mu struct {
		sync.Mutex
		items []T
	}
	news chan struct{} // holds one token while there is something
}

func newQueue[T any]() *queue[T] { return &queue[T]{news: make(chan struct{}, 1)} }

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	q.mu.items = append(q.mu.items, v)
	q.mu.Unlock()
	select {
	case q.news <- struct{}{}:
	default:
	}
}

// take empties the queue into buf.
func (q *queue[T]) take(buf []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	buf = append(buf[:0], q.mu.items...)
	clear(q.mu.items)
	q.mu.items = q.mu.items[:0]
	return buf
}

func (q *queue[T]) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.items) == 0
}
