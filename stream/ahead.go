package stream

import (
	"unsafe"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// An ahead is told the keys and times of records that come next, so that the memory their state lies in is on its way together before each
// of them has to wait for it (docs/adr/0025). It changes nothing that anybody sees, and may be told of records that never come.
type ahead[K any] = func(ks []K, times []int64)

// looksAhead has the node being made be told, per port if there are several; ports behind the last are told as it is. nil: nobody looks.
func looksAhead[K any](in *instance, ports ...ahead[K]) {
	if !in.reading {
		in.aheads[in.node] = ports
	}
}

// aheadOf is that of everything behind a node that gets its records by the same key and time; nil: nobody looks.
func aheadOf[K any](in *instance, n *topology.Node) ahead[K] {
	var all []ahead[K]
	for _, e := range n.Children() {
		if ports, ok := in.aheads[e.Node].([]ahead[K]); ok {
			if f := ports[min(e.Port, len(ports)-1)]; f != nil {
				all = append(all, f)
			}
		}
		if specOf(e.Node).keepsKey {
			if f := aheadOf[K](in, e.Node); f != nil {
				all = append(all, f)
			}
		}
	}
	return allAhead(all...)
}

// allAhead tells several, in turn.
func allAhead[K any](all ...ahead[K]) ahead[K] {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return func(ks []K, times []int64) {
		for _, f := range all {
			f(ks, times)
		}
	}
}

// A lookout is where an input collects the records that come next.
type lookout[K any] struct {
	ahead ahead[K] // nil: nobody looks
	ks    []K
	times []int64
}

// note adds a record.
func (l *lookout[K]) note(k K, time int64) {
	l.ks, l.times = append(l.ks, k), append(l.times, time)
}

// tell tells of what was noted. A key that an encoder panics at will do so again when its record is processed, and there it is somebody's; here it ends
// looking ahead.
func (l *lookout[K]) tell() {
	defer func() {
		if recover() != nil {
			l.ahead = nil
		}
		clear(l.ks)
		l.ks, l.times = l.ks[:0], l.times[:0]
	}()
	l.ahead(l.ks, l.times)
}

// near is the ahead of those who use rows by their keys.
func (r *rows[K, V]) near() ahead[K] { return nearIn[K](r.key, r.store) }

// nearIn is the ahead of those who have something under a record's key in stores.
func nearIn[K any](key serde.Serde[K], stores ...expected) ahead[K] {
	var far []expected
	var buf []byte
	return func(ks []K, _ []int64) {
		far = far[:0]
		for _, s := range stores {
			if s.Far() {
				far = append(far, s)
			}
		}
		if len(far) == 0 {
			return
		}
		for i := range ks {
			b, err := key.Append(buf[:0], ks[i])
			if err != nil {
				continue
			}
			buf = b
			for _, s := range far {
				s.Ask(b)
			}
		}
		for _, s := range far {
			s.Fetch()
		}
	}
}

// An expected is a store that is asked ahead.
type expected interface {
	Far() bool
	Ask(key []byte)
	Fetch()
}

var _ expected = (*overlay.Store[int])(nil)

// touchLast reads some of a slice's last element, and so nearly of where the next one will be.
func touchLast[T any](list []T) uint32 {
	if len(list) == 0 || unsafe.Sizeof(list[0]) == 0 {
		return 0
	}
	return uint32(*(*byte)(unsafe.Pointer(&list[len(list)-1])))
}

// An escaped key is as the states of a processor have it.
type escaped[K any] struct {
	serde.Serde[K]
	buf *[]byte
}

func (s escaped[K]) Append(dst []byte, k K) ([]byte, error) {
	b, err := s.Serde.Append((*s.buf)[:0], k)
	if err != nil {
		return dst, err
	}
	*s.buf = b
	return keys.AppendBytes(dst, b), nil
}
