package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/weirstream/weir/serde"
)

// Dynamic records in internal topics and state have no schema in common and must be readable without the registry. So each
// value has its schema in front: the length of the text, the text, the value. That is long, and compresses well where topics
// and stores compress; avro.Schema avoids it.

// inlineFormat is the format of such values.
const inlineFormat = "avro-inline/1"

// maxInlineSchema bounds the text.
const maxInlineSchema = 1 << 20

// bindInline binds a dynamic T without a schema. Only Record can be written so: nothing else knows its schema.
func bindInline[T any](o options) (serde.Serde[T], error) {
	if !isRecord[T]() {
		return nil, fmt.Errorf("avro: %v cannot be kept in state or an internal topic without avro.Schema; or use avro.Record, which has its schema with it",
			reflect.TypeFor[T]())
	}
	s := &inline{codec: o.codec, values: newValues[map[string]any](), forms: map[string]*form{}}
	return any(s).(serde.Serde[T]), nil
}

// inline is the serde.
type inline struct {
	codec  Codec
	values *values[map[string]any]

	mu    sync.RWMutex
	forms map[string]*form
}

// A form is a schema with its functions.
type form struct {
	schema *Type
	encode Encoder
	decode Decoder
}

func (s *inline) Append(dst []byte, v Record) ([]byte, error) {
	if v.schema == nil {
		return dst, errNoField
	}
	text := v.schema.text
	if len(text) > maxInlineSchema {
		return dst, fmt.Errorf("avro: the schema of %s has %d bytes, at most %d are written with a record", v.schema.Name, len(text), maxInlineSchema)
	}
	f, err := s.form([]byte(text))
	if err != nil {
		return dst, err
	}
	dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	return s.values.append(dst, v.fields, f.encode)
}

func (s *inline) Decode(b []byte) (Record, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > maxInlineSchema || n > uint64(len(b)-size) {
		return Record{}, errors.New("avro: the schema in front of the value is cut off")
	}
	f, err := s.form(b[size : size+int(n)])
	if err != nil {
		return Record{}, err
	}
	fields, err := s.values.decode(b[size+int(n):], f.decode)
	if err != nil {
		return Record{}, err
	}
	return Record{f.schema, fields}, nil
}

func (s *inline) Format() string { return inlineFormat }

// form compiles a schema once.
func (s *inline) form(text []byte) (*form, error) {
	s.mu.RLock()
	f := s.forms[string(text)]
	s.mu.RUnlock()
	if f != nil {
		return f, nil
	}
	f, err := s.compile(string(text))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.forms) >= maxWriters {
		clear(s.forms)
	}
	s.forms[string(text)] = f
	return f, nil
}

func (s *inline) compile(text string) (*form, error) {
	t, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if t.Kind != KindRecord {
		return nil, fmt.Errorf("avro: the schema in front of the value is no record but %s", t.Kind)
	}
	encode, err := encoderOf(s.codec, t, mapType)
	if err != nil {
		return nil, err
	}
	decode, err := s.codec.Decoder(t.text, t.text, mapType)
	if err != nil {
		return nil, err
	}
	return &form{t, encode, decode}, nil
}
