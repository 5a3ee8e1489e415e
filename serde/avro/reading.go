package avro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
)

// reading is the half of a bound serde that decodes.
type reading[T any] struct {
	codec    Codec
	reader   *Type // nil: as written
	registry serde.Registry
	key      bool
	values   *values[T]
	decoders[int]
}

// Decode implements [serde.Serde].
func (r *reading[T]) Decode(b []byte) (T, error) {
	id, payload, err := serde.CutSchemaID(b)
	if err != nil {
		return *new(T), err
	}
	return r.decode(id, payload)
}

func (r *reading[T]) decode(id int, payload []byte) (T, error) {
	dec := r.get(id)
	if dec == nil {
		var err error
		if dec, err = r.meet(id); err != nil {
			return *new(T), err
		}
	}
	return r.values.decode(payload, dec)
}

// meet finds out about an id that was not met before. Errors about the schema itself stick, because schemas do not change;
// errors of the registry do not.
func (r *reading[T]) meet(id int) (Decoder, error) {
	writer, err := fetchType(r.registry, id)
	if err != nil {
		if errors.Is(err, serde.ErrRegistryUnavailable) || errors.Is(err, serde.ErrUnknownSchema) {
			return nil, err
		}
		r.put(id, broken(err))
		return nil, err
	}
	reader := r.reader
	if reader == nil {
		reader = writer
	}
	dec, err := compile(r.codec, writer, reader, reflect.TypeFor[T]())
	if err != nil {
		dec = broken(fmt.Errorf("schema id %d cannot be read: %w", id, err))
	}
	r.put(id, dec)
	return dec, nil
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

// The headers that may name the schema instead of the first bytes of the value.
const (
	confluentKeyHeader   = "__key_schema_id"
	confluentValueHeader = "__value_schema_id"
	apicurioKeyHeader    = "apicurio.key.contentId"
	apicurioValueHeader  = "apicurio.value.contentId"
)

// DecodeHeaders implements [serde.HeaderDecoder].
func (r *reading[T]) DecodeHeaders(b []byte, header func(name string) []byte) (T, error) {
	id, payload, err := r.locate(b, header)
	if err != nil {
		return *new(T), err
	}
	return r.decode(id, payload)
}

// locate finds the id of the schema. A header wins over the prefix, because a value that has one has no prefix.
func (r *reading[T]) locate(b []byte, header func(name string) []byte) (id int, payload []byte, err error) {
	confluent, apicurio := confluentValueHeader, apicurioValueHeader
	if r.key {
		confluent, apicurio = confluentKeyHeader, apicurioKeyHeader
	}
	if h := header(confluent); h != nil {
		if id, err = confluentHeader(h); err != nil {
			return 0, nil, fmt.Errorf("avro: header %s: %w", confluent, err)
		}
		return id, b, nil
	}
	if h := header(apicurio); h != nil {
		if len(h) != 8 || binary.BigEndian.Uint64(h) > math.MaxInt32 {
			return 0, nil, fmt.Errorf("avro: header %s: want an id of 8 bytes, got % x", apicurio, h[:min(len(h), 20)])
		}
		return int(binary.BigEndian.Uint64(h)), b, nil
	}
	return serde.CutSchemaID(b)
}

// confluentHeader reads the id in a header: the same five bytes that are a prefix elsewhere.
func confluentHeader(h []byte) (int, error) {
	if len(h) == 17 && h[0] == 1 {
		return 0, errors.New("it names the schema by a GUID; only ids are supported")
	}
	id, rest, err := serde.CutSchemaID(h)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the id", len(rest))
	}
	return id, err
}
