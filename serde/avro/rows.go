package avro

import (
	"fmt"
	"sync"

	"github.com/weirstream/weir/serde"
)

// Rows encodes rows of this type with the schema that [SchemaOfRow] makes of it, as [Of] does.
func Rows(t serde.Type, opts ...Option) serde.Serde[serde.Row] {
	return rowsOf(t, opts, Of[Record])
}

// RegisteredRows encodes rows of this type as [Registered] does. For rows of whatever was written, use Registered[serde.Row].
func RegisteredRows(t serde.Type, opts ...Option) serde.Serde[serde.Row] {
	return rowsOf(t, opts, Registered[Record])
}

func rowsOf(t serde.Type, opts []Option, records func(...Option) serde.Serde[Record]) serde.Serde[serde.Row] {
	schema, err := SchemaOfRow(t)
	if err == nil && schema.Kind != KindRecord {
		err = fmt.Errorf("avro: %v is no row", t)
	}
	if err != nil {
		return failed[serde.Row]{err}
	}
	return newRows(records(append(opts[:len(opts):len(opts)], Schema(schema.text))...), schema, t.NotNull())
}

// rows are records in another form: it wraps any serde of them.
type rows struct {
	records serde.Serde[Record]
	schema  *Type      // of all rows; nil: each has its own
	typ     serde.Type // of all rows

	mu      sync.Mutex
	types   map[*Type]serde.Type // of records read
	schemas map[serde.Type]*Type // of rows written
}

func newRows(records serde.Serde[Record], schema *Type, t serde.Type) *rows {
	return &rows{records: records, schema: schema, typ: t, types: map[*Type]serde.Type{}, schemas: map[serde.Type]*Type{}}
}

// rowsBySchema wraps records of one schema, or of any for nil.
func rowsBySchema(records serde.Serde[Record], schema *Type) serde.Serde[serde.Row] {
	if schema == nil {
		return newRows(records, nil, serde.Type{})
	}
	t, err := RowType(schema)
	if err != nil {
		return failed[serde.Row]{err}
	}
	return newRows(records, schema, t)
}

func (s *rows) Problem() error { return serde.Problem(s.records) }
func (s *rows) Format() string { return s.records.Format() }

// Accepts implements [serde.Evolver].
func (s *rows) Accepts(stored string) error { return serde.Accepts(s.records, stored) }

// Bind implements [serde.Binder].
func (s *rows) Bind(at serde.Binding) (serde.Serde[serde.Row], error) {
	bound, err := serde.Bind(s.records, at)
	if err != nil {
		return nil, err
	}
	return newRows(bound, s.schema, s.typ), nil
}

func (s *rows) Append(dst []byte, v serde.Row) ([]byte, error) {
	schema, t, err := s.schemaOf(v)
	if err == nil {
		err = t.Check(v)
	}
	if err != nil {
		return dst, fmt.Errorf("avro: %w", err)
	}
	fields, err := fromRow(schema, v)
	if err != nil {
		return dst, fmt.Errorf("avro: %w", err)
	}
	return s.records.Append(dst, Record{schema, fields.(map[string]any)})
}

// schemaOf returns what a row is written with.
func (s *rows) schemaOf(v serde.Row) (*Type, serde.Type, error) {
	t := v.Type().NotNull()
	if s.schema != nil {
		return s.schema, s.typ, nil
	}
	if t.Kind() != serde.KindRow {
		return nil, t, fmt.Errorf("the zero Row has no type")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema := s.schemas[t]; schema != nil {
		return schema, t, nil
	}
	schema, err := SchemaOfRow(t)
	if err != nil {
		return nil, t, err
	}
	if len(s.schemas) >= maxWriters {
		clear(s.schemas)
	}
	s.schemas[t] = schema
	return schema, t, nil
}

func (s *rows) Decode(b []byte) (serde.Row, error) {
	r, err := s.records.Decode(b)
	if err != nil {
		return serde.Row{}, err
	}
	return s.row(r)
}

// DecodeHeaders implements [serde.HeaderDecoder].
func (s *rows) DecodeHeaders(b []byte, header func(name string) []byte) (serde.Row, error) {
	h, ok := s.records.(serde.HeaderDecoder[Record])
	if !ok {
		return s.Decode(b)
	}
	r, err := h.DecodeHeaders(b, header)
	if err != nil {
		return serde.Row{}, err
	}
	return s.row(r)
}

func (s *rows) row(r Record) (serde.Row, error) {
	t, err := s.typeOf(r.schema)
	if err != nil {
		return serde.Row{}, err
	}
	v, err := toRow(r.schema, t, r.fields)
	if err == nil {
		err = t.Check(v) // what Avro's numbers can be and a row's times and decimals cannot
	}
	if err != nil {
		return serde.Row{}, fmt.Errorf("avro: %w", err)
	}
	return v.(serde.Row), nil
}

// typeOf returns the type of rows that records of a schema become.
func (s *rows) typeOf(schema *Type) (serde.Type, error) {
	if s.schema != nil {
		return s.typ, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.types[schema]; ok {
		return t, nil
	}
	t, err := RowType(schema)
	if err != nil {
		return t, err
	}
	if len(s.types) >= maxWriters {
		clear(s.types)
	}
	s.types[schema] = t
	return t, nil
}
