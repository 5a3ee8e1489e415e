// Package hamba makes github.com/hamba/avro a codec of package avro:
//
//	avro.Registered[Order](avro.Using(hamba.New()))
//
// The library was archived in January 2026 with known faults in its decoder (GO-2026-5046, -5047, -5048, listed in
// docs/security.md), and values that end too early pass for zeros. So bytes are checked against their schema
// before it sees them, which costs part of its speed. Use it where its ways with Go types are needed; what programs
// do not name, they do not link.
//
// It differs from the default codec in these:
//
//   - timestamp-nanos is a number;
//   - dates before 1970 must be at midnight;
//   - numbers that do not fit a small integer of Go wrap around;
//   - fields of type any hold its own representation of unions;
//   - a record that contains itself is read with the schema that wrote it only, and a union of numbers cannot become one of them.
package hamba

import (
	"fmt"
	"math"
	"reflect"
	"sync"

	ha "github.com/hamba/avro/v2"

	"github.com/weirstream/weir/serde/avro"
)

// New returns the codec.
func New() avro.Codec { return codec{} }

type codec struct{}

func (codec) Name() string { return "hamba" }

// An engine is the library set up for one compiled function. Nothing is shared through its global settings.
type engine struct {
	api    ha.API
	schema ha.Schema
	pool   sync.Pool
}

func newEngine(s ha.Schema) *engine {
	e := &engine{schema: s, api: ha.Config{
		MaxByteSliceSize:       avro.MaxValueBytes,
		MaxSliceAllocSize:      avro.MaxValueBytes,
		DisableBlockSizeHeader: true,
		BlockLength:            math.MaxInt32, // one block: package avro puts the entries of maps in order
	}.Freeze()}
	e.api.Register("int", int32(0)) // what an int in a union becomes in a field of type any
	return e
}

// Encoder implements [avro.Codec].
func (codec) Encoder(schema string, t reflect.Type) (avro.Encoder, error) {
	tree, err := avro.Parse(schema)
	if err != nil {
		return nil, err
	}
	s, err := parse(schema)
	if err != nil {
		return nil, err
	}
	e := newEngine(s)
	e.pool.New = func() any { return ha.NewWriter(nil, 512, ha.WithWriterConfig(e.api)) }
	switch {
	case t.Kind() == reflect.Struct:
		return e.encode, nil
	case !isDynamic(t):
		// The library takes pointers to structs only.
		return func(dst []byte, v any) ([]byte, error) { return e.encode(dst, reflect.ValueOf(v).Elem().Interface()) }, nil
	}
	return func(dst []byte, v any) ([]byte, error) {
		plain, err := toHamba(tree, reflect.ValueOf(v).Elem().Interface())
		if err != nil {
			return dst, err
		}
		return e.encode(dst, plain)
	}, nil
}

func (e *engine) encode(dst []byte, v any) ([]byte, error) {
	w := e.pool.Get().(*ha.Writer)
	w.Reset(nil)
	w.Error = nil
	w.WriteVal(e.schema, v)
	err := w.Error
	if err == nil {
		dst = append(dst, w.Buffer()...)
	}
	e.pool.Put(w)
	return dst, err
}

// Decoder implements [avro.Codec].
func (codec) Decoder(writer, reader string, t reflect.Type) (avro.Decoder, error) {
	wrote, err := avro.Parse(writer)
	if err != nil {
		return nil, err
	}
	tree, err := avro.Parse(reader)
	if err != nil {
		return nil, err
	}
	s, err := resolve(wrote, tree)
	if err != nil {
		return nil, err
	}
	e := newEngine(s)
	e.pool.New = func() any { return ha.NewReader(nil, 0, ha.WithReaderConfig(e.api)) }
	check, dynamic := avro.Shield(wrote), isDynamic(t)
	return func(b []byte, v any) ([]byte, error) {
		if err := check(b); err != nil {
			return nil, err
		}
		if dynamic {
			return nil, e.decodeDynamic(tree, b, v)
		}
		return nil, e.decode(b, v)
	}, nil
}

// decode reads bytes that the shield has passed.
func (e *engine) decode(b []byte, v any) error {
	r := e.pool.Get().(*ha.Reader)
	r.Reset(b)
	r.Error = nil
	r.ReadVal(e.schema, v)
	err := r.Error
	r.Reset(nil)
	e.pool.Put(r)
	return err
}

func (e *engine) decodeDynamic(tree *avro.Type, b []byte, v any) error {
	var got any
	if err := e.decode(b, &got); err != nil {
		return err
	}
	plain, err := fromHamba(tree, got)
	if err != nil {
		return err
	}
	to := reflect.ValueOf(v).Elem()
	from := reflect.ValueOf(plain)
	switch {
	case plain == nil:
		to.SetZero()
	case !from.Type().AssignableTo(to.Type()):
		return fmt.Errorf("the schema's values are %v, not %v", from.Type(), to.Type())
	default:
		to.Set(from)
	}
	return nil
}

func isDynamic(t reflect.Type) bool {
	return t == reflect.TypeFor[any]() || t == reflect.TypeFor[map[string]any]()
}
