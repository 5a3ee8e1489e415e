package avro

import (
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/weirstream/weir/serde"
)

// Of encodes T with its own schema and no registry: in Avro's single-object encoding, where ten bytes before the value say
// which schema wrote it.
//
// State that was written with an older schema is read as long as the schemas resolve; values take the new form when they are
// written next. A schema that does not resolve is an error when the store is opened, and names the field.
//
// A dynamic T (Record, serde.Row, map[string]any, any) needs [Schema].
func Of[T any](opts ...Option) serde.Serde[T] {
	o := collect(opts)
	t, err := schemaOf[T](o)
	if err == nil && t == nil {
		err = fmt.Errorf("avro: Of[%v] needs avro.Schema: the type does not say what its values look like", reflect.TypeFor[T]())
	}
	if err != nil {
		return failed[T]{err}
	}
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[Record]():
		return any(ofRecord(o, t)).(serde.Serde[T])
	case reflect.TypeFor[serde.Row]():
		return any(rowsBySchema(ofRecord(o, t), t)).(serde.Serde[T])
	}
	return newSingle[T](o, t)
}

// failed is a serde that Build refuses.
type failed[T any] struct{ err error }

func (f failed[T]) Problem() error                         { return f.err }
func (f failed[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, f.err }
func (f failed[T]) Decode([]byte) (T, error)               { return *new(T), f.err }
func (f failed[T]) Format() string                         { return "avro" }

// singleHeader is the length of the marker and fingerprint.
const singleHeader = 10

// single is the serde of Of.
type single[T any] struct {
	values  *values[T]
	codec   Codec
	schema  *Type
	problem error
	header  [singleHeader]byte
	encode  Encoder

	// decoders are those of the schemas that were told of, by fingerprint. A new one copies the map: the engine tells of them
	// before anything is decoded, and a look-up must not take a lock.
	decoders atomic.Pointer[map[uint64]Decoder]
}

func newSingle[T any](o options, t *Type) *single[T] {
	s := &single[T]{values: newValues[T](), codec: o.codec, schema: t, header: header(t)}
	if s.encode, s.problem = encoderOf(o.codec, t, reflect.TypeFor[T]()); s.problem != nil {
		return s
	}
	s.problem = s.learn(t)
	return s
}

func header(t *Type) (h [singleHeader]byte) {
	h[0], h[1] = 0xC3, 0x01
	binary.LittleEndian.PutUint64(h[2:], t.fingerprint)
	return h
}

// learn adds a writer's schema to those that Decode knows.
func (s *single[T]) learn(writer *Type) error {
	decode, err := compile(s.codec, writer, s.schema, reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	next := map[uint64]Decoder{}
	if have := s.decoders.Load(); have != nil {
		maps.Copy(next, *have)
	}
	next[writer.fingerprint] = decode
	s.decoders.Store(&next)
	return nil
}

// Problem is what Build reports.
func (s *single[T]) Problem() error {
	if s.problem != nil {
		return fmt.Errorf("avro: %v: %w", reflect.TypeFor[T](), s.problem)
	}
	return nil
}

func (s *single[T]) Append(dst []byte, v T) ([]byte, error) {
	return s.values.append(append(dst, s.header[:]...), v, s.encode)
}

func (s *single[T]) Decode(b []byte) (T, error) {
	if len(b) < singleHeader || b[0] != 0xC3 || b[1] != 0x01 {
		return *new(T), errNotSingle(b)
	}
	fingerprint := binary.LittleEndian.Uint64(b[2:])
	decode := (*s.decoders.Load())[fingerprint]
	if decode == nil {
		return *new(T), fmt.Errorf("avro: the value was written with a schema of fingerprint %016x, which this program does not know (its own is %016x)",
			fingerprint, s.schema.fingerprint)
	}
	return s.values.decode(b[singleHeader:], decode)
}

func errNotSingle(b []byte) error {
	if len(b) < singleHeader {
		return fmt.Errorf("avro: %d bytes are too few for the single-object encoding, whose header alone has %d", len(b), singleHeader)
	}
	return fmt.Errorf("avro: not in the single-object encoding: it starts with % x, want c3 01", b[:2])
}

// Format has the whole schema, so that a store says by itself how to read it: neither the registry nor the old program
// has to be there.
func (s *single[T]) Format() string { return formatPrefix + s.schema.text }

const formatPrefix = "avro:"

// Accepts implements [serde.Evolver].
func (s *single[T]) Accepts(stored string) error {
	writer, err := storedSchema(stored)
	if err != nil {
		return err
	}
	if writer.fingerprint == s.schema.fingerprint {
		// Values of both look alike, so it must not matter which of them wrote one.
		return CheckReadable(writer, s.schema)
	}
	if err := s.learn(writer); err != nil {
		return fmt.Errorf("avro: values of %v were stored with a schema that does not fit the present one: %w", reflect.TypeFor[T](), err)
	}
	return nil
}

// storedSchema reads the schema in a format.
func storedSchema(stored string) (*Type, error) {
	text, ok := strings.CutPrefix(stored, formatPrefix)
	if !ok {
		return nil, fmt.Errorf("avro: %w: it was written as %.100q, which is not Avro; see serde.Migrate", serde.ErrIncompatible, stored)
	}
	return Parse(text)
}
