package avro

import (
	"fmt"

	"github.com/weirstream/weir/serde"
)

// A Kind is the kind of a [Type], spelled as in a schema.
type Kind string

// The kinds.
const (
	KindNull    Kind = "null"
	KindBoolean Kind = "boolean"
	KindInt     Kind = "int"
	KindLong    Kind = "long"
	KindFloat   Kind = "float"
	KindDouble  Kind = "double"
	KindBytes   Kind = "bytes"
	KindString  Kind = "string"
	KindRecord  Kind = "record"
	KindEnum    Kind = "enum"
	KindFixed   Kind = "fixed"
	KindArray   Kind = "array"
	KindMap     Kind = "map"
	KindUnion   Kind = "union"
)

// A Type is a schema that was read. It is a graph: a record that contains itself does. It must not be changed.
type Type struct {
	Kind      Kind
	Logical   string // "date", "decimal", …; "" for none
	Name      string // full name of a record, enum or fixed
	Aliases   []string
	Doc       string
	Fields    []Field  // of a record
	Elem      *Type    // of an array or map
	Branches  []*Type  // of a union
	Symbols   []string // of an enum
	Size      int      // of a fixed
	Precision int      // of a decimal
	Scale     int      // of a decimal

	text        string // only the type that Parse returned has it
	fingerprint uint64
}

// A Field is a field of a record.
type Field struct {
	Name       string
	Type       *Type
	Default    any // in the form that decoding gives values; nil for null too, see HasDefault
	HasDefault bool
	Aliases    []string
	Doc        string
}

// Parse reads a schema. The texts before the last one define names that it uses, each before those that use it.
func Parse(texts ...string) (*Type, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("avro: no schema")
	}
	t, err := parse(texts...)
	if err != nil {
		return nil, fmt.Errorf("avro: schema: %w", err)
	}
	return t, nil
}

// String returns the schema as JSON, with everything it refers to inside; "" for a part of a schema.
func (t *Type) String() string { return t.text }

// Fingerprint is the 64-bit fingerprint that Avro defines (CRC-64-AVRO of the canonical form); 0 for a part of a schema.
// Schemas that differ in documentation, defaults, aliases or logical types have the same.
func (t *Type) Fingerprint() uint64 { return t.fingerprint }

// field returns the index of a field, or -1.
func (t *Type) field(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// schema is t as a registry knows it.
func (t *Type) schema() serde.Schema {
	return serde.Schema{Format: serde.FormatAvro, Text: t.text}
}
