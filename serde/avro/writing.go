package avro

import (
	"context"
	"fmt"
	"reflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
)

// writing is the half of a bound serde that knows which schema to write with.
type writing struct {
	options
	at     serde.Binding
	goType reflect.Type
	schema *Type // T's; nil for a dynamic T without one
	writer schemaid.Once[writer]
}

// A writer is a registered schema, ready to encode.
type writer struct {
	id     int
	encode Encoder
}

// subject names the subject that this use belongs to.
func (w *writing) subject(t *Type) (string, error) {
	record := ""
	if t != nil {
		record = t.Name
	}
	return w.choice.Subject(w.at, record)
}

// check asks the registry whether the schema will do, without registering it.
func (w *writing) check() error {
	if w.choice.Given() {
		_, err := w.prepare()
		return err
	}
	if w.schema == nil {
		return w.errNoSchema()
	}
	subject, err := w.subject(w.schema)
	if err != nil {
		return err
	}
	return schemaid.Fits(w.at.Registry, subject, w.schema.schema())
}

func (w *writing) errNoSchema() error {
	return fmt.Errorf("avro: writing %v needs avro.Schema, avro.Version or avro.UseLatest: the type does not say its schema", w.goType)
}

// prepare finds the id and compiles the encoder, once.
func (w *writing) prepare() (writer, error) { return w.writer.Get(w.find) }

func (w *writing) find() (writer, error) {
	subject, err := w.subject(w.schema)
	if err != nil {
		return writer{}, err
	}
	switch {
	case w.choice.Given():
		return w.given(subject)
	case w.schema == nil:
		return writer{}, w.errNoSchema()
	}
	id, err := w.at.Registry.Register(context.Background(), subject, w.schema.schema())
	if err != nil {
		return writer{}, fmt.Errorf("avro: %w", err)
	}
	encode, err := encoderOf(w.codec, w.schema, w.goType)
	if err != nil {
		return writer{}, fmt.Errorf("avro: %w", err)
	}
	return writer{id, encode}, nil
}

// given makes a writer of a schema that the registry has.
func (w *writing) given(subject string) (writer, error) {
	id, s, err := w.choice.Find(w.at.Registry, subject)
	if err != nil {
		return writer{}, fmt.Errorf("avro: %w", err)
	}
	if s.Format != serde.FormatAvro {
		return writer{}, fmt.Errorf("avro: subject %q has a schema of format %s, not Avro", subject, s.Format)
	}
	t, err := closedType(context.Background(), w.at.Registry, s)
	if err != nil {
		return writer{}, err
	}
	if w.schema != nil {
		if err := covers(w.schema, t, t.Name, map[*Type]bool{}); err != nil {
			return writer{}, fmt.Errorf("avro: subject %q: %w", subject, err)
		}
	}
	encode, err := encoderOf(w.codec, t, w.goType)
	if err != nil {
		return writer{}, fmt.Errorf("avro: subject %q: %w", subject, err)
	}
	return writer{id, encode}, nil
}

// covers checks that values of have can be written as want: no field is missing. Kinds are left to the encoder, which
// knows what Go types it takes for them.
func covers(have, want *Type, path string, seen map[*Type]bool) error {
	have, want = nonNull(have), nonNull(want)
	if seen[want] {
		return nil
	}
	seen[want] = true
	switch {
	case have.Kind != want.Kind:
		return nil
	case want.Elem != nil:
		return covers(have.Elem, want.Elem, path, seen)
	}
	for i := range want.Fields {
		name := want.Fields[i].Name
		at := have.field(name)
		if at < 0 {
			return &Incompatible{Path: path + "." + name, Reader: string(want.Fields[i].Type.Kind),
				Reason: "the registry's schema has a field that the Go type lacks"}
		}
		if err := covers(have.Fields[at].Type, want.Fields[i].Type, path+"."+name, seen); err != nil {
			return err
		}
	}
	return nil
}

// nonNull is T of a union of null and T, else t.
func nonNull(t *Type) *Type {
	if t.Kind != KindUnion || len(t.Branches) != 2 {
		return t
	}
	switch {
	case t.Branches[0].Kind == KindNull:
		return t.Branches[1]
	case t.Branches[1].Kind == KindNull:
		return t.Branches[0]
	}
	return t
}
