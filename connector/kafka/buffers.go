package kafka

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A buffer holds an answer. It is used again when every batch that points into it has been released.
type buffer struct {
	b    []byte
	refs atomic.Int32
	home *sync.Pool
}

// buffers keeps the memory of answers by size: four sizes between a power of two and the next, so that at most a quarter is not in use.
type buffers struct{ pools [4 * 32]sync.Pool }

// get is a buffer with n bytes, of any content. The caller has the first hold on it.
func (s *buffers) get(n int) *buffer {
	size := max(n, 1<<10)
	class := bits.Len(uint(size - 1))
	step := 1 << (class - 3)
	size = (size + step - 1) / step * step // five to eight steps
	pool := &s.pools[4*class+size/step-5]
	f, _ := pool.Get().(*buffer)
	if f == nil {
		f = &buffer{b: make([]byte, size), home: pool}
	}
	f.b = f.b[:n]
	f.refs.Store(1)
	return f
}

func (f *buffer) hold() { f.refs.Add(1) }

// release gives up a hold. After the last one the memory is somebody else's.
func (f *buffer) release() {
	if f.refs.Add(-1) == 0 {
		f.home.Put(f)
	}
}
