package avro

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
)

// A Record is a record whose schema is known at run time only. It is a reference, as a map is: copies share their fields.
// It must not be changed after it was emitted.
type Record struct {
	schema *Type
	fields map[string]any
}

// NewRecord returns a record of type t with these fields, which it takes over; nil is none. Fields that are missing take
// their defaults when the record is encoded. Values are nil, bool, int32, int64, float32, float64, string, []byte, []any and
// map[string]any, and those of logical types: time.Time, time.Duration, *big.Rat, [16]byte and Duration.
func NewRecord(t *Type, fields map[string]any) (Record, error) {
	if t == nil || t.Kind != KindRecord || t.text == "" {
		return Record{}, errors.New("avro: NewRecord needs the schema of a record, as Parse returns it")
	}
	for name := range fields {
		if t.field(name) < 0 {
			return Record{}, fmt.Errorf("avro: %s has no field %q", t.Name, name)
		}
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return Record{t, fields}, nil
}

// Type returns the record's schema; nil for the zero Record.
func (r Record) Type() *Type { return r.schema }

// Get returns the value of a field, and whether the record has it.
func (r Record) Get(name string) (any, bool) {
	v, ok := r.fields[name]
	return v, ok
}

// Set changes a field. It fails for a name that the schema does not have.
func (r Record) Set(name string, v any) error {
	if r.schema == nil || r.schema.field(name) < 0 {
		return fmt.Errorf("avro: the record has no field %q", name)
	}
	r.fields[name] = v
	return nil
}

// Fields returns the record's fields. They are the record's own.
func (r Record) Fields() map[string]any { return r.fields }

// Clone returns a record with fields of its own. Values below the top are shared.
func (r Record) Clone() Record { return Record{r.schema, maps.Clone(r.fields)} }

var (
	mapType    = reflect.TypeFor[map[string]any]()
	errNoField = errors.New("avro: a Record without a schema; make it by NewRecord")
)

// recordOf is the serde of Of[Record]: that of the map inside, with one schema for all.
type recordOf struct {
	*single[map[string]any]
}

func ofRecord(o options, t *Type) serde.Serde[Record] {
	if t.Kind != KindRecord {
		return failed[Record]{fmt.Errorf("avro: the schema of a Record must be a record, not %s", t.Kind)}
	}
	return recordOf{newSingle[map[string]any](o, t)}
}

func (s recordOf) Append(dst []byte, v Record) ([]byte, error) { return s.single.Append(dst, v.fields) }

func (s recordOf) Decode(b []byte) (Record, error) {
	fields, err := s.single.Decode(b)
	if err != nil {
		return Record{}, err
	}
	return Record{s.schema, fields}, nil
}

// boundRecord is Registered[Record] at its topic. Each schema that its records bring along is registered on first use.
type boundRecord struct {
	options
	at      serde.Binding
	reader  *Type // nil: as written
	reading reading[map[string]any]
	values  *values[map[string]any]

	mu      sync.Mutex
	types   map[int]*Type       // what ids stand for
	writers map[string]*writing // by the text of the schema
}

// maxWriters bounds the schemas that one sink remembers. A program that makes up schemas as it goes pays a lookup.
const maxWriters = 1000

func bindRecord(o options, t *Type, at serde.Binding) (serde.Serde[Record], error) {
	if t != nil && t.Kind != KindRecord {
		return nil, fmt.Errorf("avro: the schema of a Record must be a record, not %s", t.Kind)
	}
	b := &boundRecord{options: o, at: at, reader: t, values: newValues[map[string]any](), types: map[int]*Type{}, writers: map[string]*writing{}}
	b.reading = reading[map[string]any]{codec: o.codec, reader: t, ids: schemaid.Locator{Registry: at.Registry, Key: at.Key}, values: b.values}
	return b, nil
}

// writing finds the state of a schema.
func (b *boundRecord) writing(t *Type) *writing {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.writers[t.text]
	if w == nil {
		if len(b.writers) >= maxWriters {
			clear(b.writers)
		}
		w = &writing{options: b.options, at: b.at, goType: mapType, schema: t}
		b.writers[t.text] = w
	}
	return w
}

func (b *boundRecord) Append(dst []byte, v Record) ([]byte, error) {
	if v.schema == nil {
		return dst, errNoField
	}
	w, err := b.writing(v.schema).prepare()
	if err != nil {
		return dst, err
	}
	return b.values.append(serde.AppendSchemaID(dst, w.id), v.fields, w.encode)
}

func (b *boundRecord) Decode(v []byte) (Record, error) {
	id, payload, err := serde.CutSchemaID(v)
	if err != nil {
		return Record{}, err
	}
	return b.decode(id, payload)
}

func (b *boundRecord) decode(id int, payload []byte) (Record, error) {
	fields, err := b.reading.decode(id, payload)
	if err != nil {
		return Record{}, err
	}
	t, err := b.typeOf(id)
	return Record{t, fields}, err
}

// DecodeHeaders implements [serde.HeaderDecoder].
func (b *boundRecord) DecodeHeaders(v []byte, header func(name string) []byte) (Record, error) {
	id, payload, err := b.reading.locate(v, header)
	if err != nil {
		return Record{}, err
	}
	return b.decode(id, payload)
}

// typeOf is the schema that a record of this id has.
func (b *boundRecord) typeOf(id int) (*Type, error) {
	if b.reader != nil {
		return b.reader, nil
	}
	b.mu.Lock()
	t := b.types[id]
	b.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := fetchType(b.at.Registry, id)
	if err == nil && t.Kind != KindRecord {
		err = fmt.Errorf("avro: schema id %d is no record but %s", id, t.Kind)
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.types[id] = t
	return t, nil
}

func (b *boundRecord) Format() string {
	if b.reader == nil {
		return inlineFormat
	}
	return formatPrefix + b.reader.text
}
