package stream

import (
	"encoding/binary"
	"errors"

	"github.com/weirstream/weir/serde"
)

// A subscription is what a row of the left table of a foreign-key join says of its foreign key. One that is gone takes it back. With moved, another
// one of the same version takes back what the row said of the key before.
type subscription[K, V any] struct {
	k       K
	v       V
	version int64
	gone    bool
	moved   bool
}

type subscriptionSerde[K, V any] struct {
	key   serde.Serde[K]
	value serde.Serde[V]
}

// Append writes the version, whether it is gone, the key behind its length, and the value.
func (s subscriptionSerde[K, V]) Append(dst []byte, sub subscription[K, V]) ([]byte, error) {
	flag := flagsOf(sub.gone, sub.moved)
	key, err := s.key.Append(nil, sub.k)
	if err != nil {
		return dst, err
	}
	dst = appendText(binary.AppendVarint(append(dst, flag), sub.version), string(key))
	if sub.gone {
		return dst, nil
	}
	return s.value.Append(dst, sub.v)
}

var errSubscription = errors.New("a subscription is damaged")

func (s subscriptionSerde[K, V]) Decode(b []byte) (sub subscription[K, V], err error) {
	if len(b) == 0 {
		return sub, errSubscription
	}
	d := callDecoder{b[1:], true}
	sub.gone, sub.moved, sub.version = b[0]&1 != 0, b[0]&2 != 0, d.varint()
	key := d.text()
	if !d.ok {
		return sub, errSubscription
	}
	if sub.k, err = s.key.Decode([]byte(key)); err != nil || sub.gone {
		return sub, err
	}
	sub.v, err = s.value.Decode(d.b)
	return sub, err
}

func (s subscriptionSerde[K, V]) Format() string {
	return "subscription/1:" + s.key.Format() + ":" + s.value.Format()
}

// An answer is the joined row of a left row as of one of its versions; without has there is none. With moved, the change that made this version took a
// subscription back elsewhere; with released, this says that it is done, and nothing else.
type answer[R any] struct {
	r        R
	version  int64
	has      bool
	moved    bool
	released bool
}

// bare is the answer where its row cannot be sent: as any row that is rejected, it is not there.
func (a answer[R]) bare() answer[R] {
	return answer[R]{version: a.version, moved: a.moved, released: a.released}
}

type answerSerde[R any] struct{ result serde.Serde[R] }

func (s answerSerde[R]) Append(dst []byte, a answer[R]) ([]byte, error) {
	dst = binary.AppendVarint(append(dst, flagsOf(a.has, a.moved, a.released)), a.version)
	if !a.has {
		return dst, nil
	}
	return s.result.Append(dst, a.r)
}

var errAnswer = errors.New("the answer of a foreign-key join is damaged")

func (s answerSerde[R]) Decode(b []byte) (a answer[R], err error) {
	if len(b) == 0 {
		return a, errAnswer
	}
	d := callDecoder{b[1:], true}
	a.has, a.moved, a.released, a.version = b[0]&1 != 0, b[0]&2 != 0, b[0]&4 != 0, d.varint()
	if !d.ok {
		return a, errAnswer
	}
	if a.has {
		a.r, err = s.result.Decode(d.b)
	}
	return a, err
}

func (s answerSerde[R]) Format() string { return "answer/1:" + s.result.Format() }

// flagsOf has a bit for each, the first one the lowest.
func flagsOf(bits ...bool) (b byte) {
	for i, set := range bits {
		if set {
			b |= 1 << i
		}
	}
	return b
}
