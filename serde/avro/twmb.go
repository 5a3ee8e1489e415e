package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/avro"
)

// This file is the only one that knows github.com/twmb/avro. It is the default codec, and reads, derives and compares
// schemas for every codec.

// twmb is the default codec. It bounds counts by the bytes left, depth by 1000 and sizes of decimals by itself.
type twmb struct{}

func (twmb) Name() string { return "twmb" }

func (twmb) Encoder(schema string, t reflect.Type) (Encoder, error) {
	s, err := avro.Parse(schema, customs(schema)...)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, v any) ([]byte, error) { return s.AppendEncode(dst, v) }, nil
}

func (twmb) Decoder(writer, reader string, t reflect.Type) (Decoder, error) {
	w, err := avro.Parse(writer, customs(writer)...)
	if err != nil {
		return nil, fmt.Errorf("writer's schema: %w", err)
	}
	s := w
	if writer != reader {
		r, err := avro.Parse(reader, customs(reader)...)
		if err != nil {
			return nil, fmt.Errorf("reader's schema: %w", err)
		}
		if s, err = avro.Resolve(w, r); err != nil {
			return nil, err
		}
	}
	return func(b []byte, v any) ([]byte, error) { return s.Decode(b, v) }, nil
}

// customs returns the conversions between our types and the library's. A schema without durations gets none, because
// the library's fast path is for records that have none.
func customs(schema string) []avro.SchemaOpt {
	if !strings.Contains(schema, `"duration"`) {
		return nil
	}
	return []avro.SchemaOpt{durationType()}
}

func durationType() avro.CustomType {
	return avro.CustomType{
		LogicalType: "duration",
		AvroType:    "fixed",
		GoType:      reflect.TypeFor[Duration](),
		Schema:      &avro.SchemaNode{Type: "fixed", Name: "duration", Size: 12, LogicalType: "duration"},
		Encode: func(v any, _ *avro.SchemaNode) (any, error) {
			d, ok := v.(Duration)
			if !ok {
				return nil, avro.ErrSkipCustomType
			}
			var b [12]byte
			binary.LittleEndian.PutUint32(b[0:], d.Months)
			binary.LittleEndian.PutUint32(b[4:], d.Days)
			binary.LittleEndian.PutUint32(b[8:], d.Milliseconds)
			return b[:], nil
		},
		Decode: func(v any, _ *avro.SchemaNode) (any, error) {
			b, ok := v.([]byte)
			if !ok || len(b) != 12 {
				return nil, errors.New("a duration of other than 12 bytes")
			}
			return Duration{
				Months:       binary.LittleEndian.Uint32(b[0:]),
				Days:         binary.LittleEndian.Uint32(b[4:]),
				Milliseconds: binary.LittleEndian.Uint32(b[8:]),
			}, nil
		},
	}
}

// derive returns the schema of T as JSON.
func derive[T any](name, namespace string) (string, error) {
	opts := []avro.SchemaOpt{durationType(), avro.WithNamespace(namespace)}
	if name != "" {
		opts = append(opts, avro.WithName(name))
	}
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && !known(t) {
		s, err := avro.SchemaFor[T](opts...)
		if err != nil {
			return "", err
		}
		return s.String(), nil
	}
	// The library derives records only. Any other type is derived as the one field of a record.
	type only[V any] struct{ V V }
	s, err := avro.SchemaFor[only[T]](append(opts, avro.WithName("Only"))...)
	if err != nil {
		return "", err
	}
	field := s.Root().Fields[0].Type
	if s, err = field.Schema(); err != nil {
		return "", err
	}
	return s.String(), nil
}

// known tells whether a struct is a logical type and no record.
func known(t reflect.Type) bool {
	return slices.Contains([]string{"time.Time", "big.Rat", "avro.Duration"}, t.String())
}

// parse reads a schema. The texts before the last define names that later ones use; the result is the last, with all it
// needs inside.
func parse(texts ...string) (*Type, error) {
	var cache avro.SchemaCache
	var s *avro.Schema
	for _, text := range texts {
		var err error
		if s, err = cache.Parse(text); err != nil {
			return nil, err
		}
	}
	names := map[string]*Type{}
	root := s.Root()
	t := convert(root, "", names)
	t.text = s.String()
	t.fingerprint = binary.BigEndian.Uint64(s.Fingerprint(avro.NewRabin()))
	return t, nil
}

// convert copies the library's tree, turning names into pointers to what they name. namespace is the one around n.
func convert(n *avro.SchemaNode, namespace string, names map[string]*Type) *Type {
	t := &Type{Kind: Kind(n.Type), Logical: n.LogicalType, Size: n.Size, Precision: n.Precision, Scale: n.Scale, Symbols: n.Symbols, Doc: n.Doc}
	switch n.Type {
	case "record", "error", "enum", "fixed":
		if t.Name, t.Aliases = n.Name, n.Aliases; !strings.Contains(n.Name, ".") && n.Namespace != "" {
			t.Name = n.Namespace + "." + n.Name
		}
		names[t.Name] = t
		namespace, _ = splitName(t.Name)
		if n.Type == "error" {
			t.Kind = KindRecord
		}
	case "union":
		for i := range n.Branches {
			t.Branches = append(t.Branches, convert(&n.Branches[i], namespace, names))
		}
	case "array":
		t.Elem = convert(n.Items, namespace, names)
	case "map":
		t.Elem = convert(n.Values, namespace, names)
	case "null", "boolean", "int", "long", "float", "double", "string", "bytes":
	default:
		if inside := names[namespace+"."+n.Type]; inside != nil {
			return inside
		}
		return names[n.Type] // the library has checked that it is defined before
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		ft := convert(&f.Type, namespace, names)
		t.Fields = append(t.Fields, Field{Name: f.Name, Type: ft, Default: f.Default, HasDefault: f.HasDefault, Aliases: f.Aliases, Doc: f.Doc})
	}
	return t
}

// resolvable is the library's check of two schemas.
func resolvable(writer, reader *Type) error {
	w, err := avro.Parse(writer.text)
	if err != nil {
		return err
	}
	r, err := avro.Parse(reader.text)
	if err != nil {
		return err
	}
	err = avro.CheckCompatibility(w, r)
	var no *avro.CompatibilityError
	if errors.As(err, &no) {
		return &Incompatible{Path: no.Path, Writer: no.WriterType, Reader: no.ReaderType, Reason: no.Detail}
	}
	return err
}
