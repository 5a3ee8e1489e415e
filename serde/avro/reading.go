package avro

import (
	"context"
	"fmt"
	"reflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
	"github.com/weirstream/weir/serde/registry"
)

// reading is the half of a bound serde that decodes.
type reading[T any] struct {
	codec    Codec
	reader   *Type // nil: as written
	ids      schemaid.Locator
	values   *values[T]
	decoders schemaid.Table[int, Decoder]
}

// Decode implements [serde.Serde].
func (r *reading[T]) Decode(b []byte) (T, error) {
	id, payload, err := serde.CutSchemaID(b)
	if err != nil {
		return *new(T), err
	}
	return r.decode(id, payload)
}

// DecodeHeaders implements [serde.HeaderDecoder].
func (r *reading[T]) DecodeHeaders(b []byte, header func(name string) []byte) (T, error) {
	id, payload, err := r.locate(b, header)
	if err != nil {
		return *new(T), err
	}
	return r.decode(id, payload)
}

// locate finds the id in the headers or in front of the value.
func (r *reading[T]) locate(b []byte, header func(name string) []byte) (id int, payload []byte, err error) {
	id, more, payload, _, err := r.ids.Locate(b, header)
	if err == nil && len(more) > 0 {
		err = fmt.Errorf("%d bytes follow the id in the header", len(more))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("avro: %w", err)
	}
	return id, payload, nil
}

func (r *reading[T]) decode(id int, payload []byte) (T, error) {
	decode, err := r.decoders.Get(id, func() (Decoder, error) { return r.meet(id) })
	if err != nil {
		return *new(T), err
	}
	return r.values.decode(payload, decode)
}

// meet finds out about an id that was not met before.
func (r *reading[T]) meet(id int) (Decoder, error) {
	writer, err := fetchType(r.ids.Registry, id)
	if err != nil {
		return nil, err
	}
	reader := r.reader
	if reader == nil {
		reader = writer
	}
	decode, err := compile(r.codec, writer, reader, reflect.TypeFor[T]())
	if err != nil {
		return nil, fmt.Errorf("avro: schema id %d cannot be read: %w", id, err)
	}
	return decode, nil
}

// compile checks that two schemas resolve and compiles their decoder.
func compile(c Codec, writer, reader *Type, t reflect.Type) (Decoder, error) {
	if writer.text != reader.text {
		if err := CheckReadable(writer, reader); err != nil {
			return nil, err
		}
	}
	return c.Decoder(writer.text, reader.text, t)
}

// fetchType gets a schema and all it refers to.
func fetchType(from serde.Registry, id int) (*Type, error) {
	ctx := context.Background() // the registry's own time-out ends it
	s, err := from.Schema(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	if s.Format != serde.FormatAvro {
		return nil, fmt.Errorf("avro: schema id %d is a schema of format %s, not Avro; is this the right serde for the topic?", id, s.Format)
	}
	return closedType(ctx, from, s)
}

// closedType parses a schema after those it refers to.
func closedType(ctx context.Context, from serde.Registry, s serde.Schema) (*Type, error) {
	parts, err := registry.References(ctx, from, s)
	if err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	texts := make([]string, 0, len(parts)+1)
	for _, p := range parts {
		texts = append(texts, p.Schema.Text)
	}
	return Parse(append(texts, s.Text)...)
}
