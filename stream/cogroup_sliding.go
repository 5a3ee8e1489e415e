package stream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// A fed is a record of one of several streams, in its stored form: sliding windows fold what is stored, and the streams differ in type.
type fed struct {
	member int
	value  []byte
}

// fedSerde encodes feds: a byte for the stream, then the value.
type fedSerde struct{ formats string }

func (s fedSerde) Append(dst []byte, f fed) ([]byte, error) {
	return append(append(dst, byte(f.member)), f.value...), nil
}

func (s fedSerde) Decode(b []byte) (fed, error) {
	if len(b) == 0 {
		return fed{}, fmt.Errorf("a stored record does not say which stream it is of")
	}
	return fed{int(b[0]), slices.Clone(b[1:])}, nil
}

func (s fedSerde) Format() string { return "fed/1:" + s.formats }

// maxFed is how many streams a byte tells apart.
const maxFed = 1 << 8

// A keeper keeps the records of one stream.
type keeper[K, R any] struct {
	format string
	// receive makes the receiver of the stream's records, which hands each on as stored.
	receive func(member int, in *instance, next recv[K, fed]) any
	// fold adds a stored record to an aggregate.
	fold func(k K, value []byte, r R, had bool) R
}

// keeps is the keeper of a stream.
func keeps[K, V, R any](b *binding, value serde.Serde[V], init func() R, add func(k K, v V, r R) R) (keeper[K, R], error) {
	s, err := bindInternal(b, value, false)
	if err != nil {
		return keeper[K, R]{}, err
	}
	return keeper[K, R]{
		format: s.Format(),
		receive: func(member int, in *instance, next recv[K, fed]) any {
			reject, node := in.rejection(), in.self()
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = node
				b, err := s.Append(nil, v)
				if err != nil {
					reject(c, fmt.Errorf("value: %w", err), nil)
					return
				}
				next(c, k, fed{member, b})
			})
		},
		fold: func(k K, value []byte, r R, had bool) R {
			v, err := s.Decode(value)
			if err != nil {
				panic(task.Failure{Err: fmt.Errorf("stored value: %w", err)})
			}
			if !had {
				r = init()
			}
			return add(k, v, r)
		},
	}, nil
}

// aggregateSliding is AggregateWindow over sliding windows.
func aggregateSliding[K, R any, WK window.KeyOf[K]](c *Cogrouped[K, R], w window.Spec, init func() R, name string, o settings, key serde.Serde[K], parents []topology.Edge) *Table[WK, R] {
	if len(c.members) > maxFed {
		c.b.problem(o.line, fmt.Errorf("AggregateWindow: %d streams in sliding windows, at most %d", len(c.members), maxFed))
	}
	var keepers []keeper[K, R] // bound
	bind := func(b *binding) (serde.Serde[fed], error) {
		keepers = nil
		var formats []string
		for _, m := range c.members {
			k, err := m.keeper(b, init)
			if err != nil {
				return nil, err
			}
			keepers = append(keepers, k)
			formats = append(formats, k.format)
		}
		return fedSerde{strings.Join(formats, ",")}, nil
	}
	fold := func(k K, f fed, r R, had bool) R { return keepers[f.member].fold(k, f.value, r, had) }
	return slidingTable[K, fed, R, WK](c.b, cogroup, name, o, key, nil, w, bind, fold, func(in *instance, next recv[K, fed]) any {
		var ports []any
		for i, k := range keepers {
			ports = append(ports, k.receive(i, in, next))
		}
		return ports
	}, parents...)
}
