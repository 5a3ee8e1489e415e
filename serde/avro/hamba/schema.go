package hamba

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	ha "github.com/hamba/avro/v2"

	"github.com/weirstream/weir/serde/avro"
)

// parse reads a schema, without the library's global cache of names.
//
// Local timestamps are read as timestamps: the library would shift them into the time zone of the machine, so that two
// machines disagree. The bytes are the same.
func parse(schema string) (ha.Schema, error) {
	schema = strings.ReplaceAll(schema, `"local-timestamp-`, `"timestamp-`)
	s, err := ha.ParseWithCache(schema, "", &ha.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("hamba: %w", err)
	}
	return s, nil
}

// errRecursive is why some schemas are refused: the library would recurse until the process dies.
var errRecursive = errors.New("hamba: a record that contains itself cannot be read with another schema than it was written with; use the default codec")

// resolve returns the schema that reads what writer wrote as reader.
func resolve(writer, reader *avro.Type) (ha.Schema, error) {
	w, err := parse(writer.String())
	if err != nil || writer.String() == reader.String() {
		return w, err
	}
	if recursive(writer, map[*avro.Type]bool{}) && recursive(reader, map[*avro.Type]bool{}) {
		return nil, errRecursive
	}
	r, err := parse(reader.String())
	if err != nil {
		return nil, err
	}
	s, err := ha.NewSchemaCompatibility().Resolve(r, w)
	if err != nil {
		return nil, fmt.Errorf("hamba: %w", err)
	}
	return s, nil
}

// recursive tells whether a type is among those that contain it. seen has the types under way (true) and those found clean.
func recursive(t *avro.Type, seen map[*avro.Type]bool) bool {
	if underWay, ok := seen[t]; ok {
		return underWay
	}
	seen[t] = true
	inside := slices.Clone(t.Branches)
	if t.Elem != nil {
		inside = append(inside, t.Elem)
	}
	for i := range t.Fields {
		inside = append(inside, t.Fields[i].Type)
	}
	for _, in := range inside {
		if recursive(in, seen) {
			return true
		}
	}
	seen[t] = false
	return false
}
