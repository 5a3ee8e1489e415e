package jsonschema

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
	"github.com/weirstream/weir/serde/registry"
)

// Registered encodes T in the Confluent wire format with the app's registry (stream.Config.Registry), and as plain JSON
// in internal topics, which need no registry and hold nothing that was not validated.
//
// Writing needs [Schema], [Version] or [UseLatest]. What the registry objects to is reported by Build when the registry
// answers then. A registry that is down pauses the task, when and only when it meets an id that it has not met before.
func Registered[T any](opts ...Option) serde.Serde[T] {
	o := collect(opts)
	body, err := bodyOf[T](o)
	if err != nil {
		return failed[T]{err}
	}
	r := registered[T]{options: o, json: body}
	if o.text != "" {
		if r.own, err = compile(o.text, nil); err != nil {
			return failed[T]{err}
		}
	}
	return r
}

// registered is what Registered returns: a plan, which each use binds to its topic.
type registered[T any] struct {
	options
	json serde.Serde[T]
	own  *validator // of Schema; nil without it
}

var errUnbound = errors.New("jsonschema: this serde depends on its topic; use it in a source or sink, or bind it by serde.Bind")

func (r registered[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, errUnbound }
func (r registered[T]) Decode([]byte) (T, error)               { return *new(T), errUnbound }
func (r registered[T]) Format() string                         { return r.json.Format() }

// Bind implements [serde.Binder].
func (r registered[T]) Bind(at serde.Binding) (serde.Serde[T], error) {
	text, err := serde.Bind(r.json, at)
	if err != nil {
		return nil, err
	}
	r.json = text
	switch {
	case at.Internal:
		return text, nil
	case at.Registry == nil:
		return nil, fmt.Errorf("jsonschema: topic %q: Registered needs a registry; set Registry in stream.Config, or use jsonschema.Of", at.Topic)
	}
	b := &bound[T]{registered: r, at: at, ids: schemaid.Locator{Registry: at.Registry, Key: at.Key}}
	if at.Writes {
		if err := b.preflight(); err != nil && !errors.Is(err, serde.ErrRegistryUnavailable) {
			return nil, fmt.Errorf("jsonschema: topic %q: %w", at.Topic, err)
		}
	}
	return b, nil
}

// bound is a serde at its topic.
type bound[T any] struct {
	registered[T]
	at      serde.Binding
	ids     schemaid.Locator
	writer  schemaid.Once[writer]
	readers schemaid.Table[int, *validator]
}

// A writer is a registered schema, ready to validate.
type writer struct {
	id     int
	schema *validator
}

func (b *bound[T]) Append(dst []byte, v T) ([]byte, error) {
	w, err := b.writer.Get(b.prepare)
	if err != nil {
		return dst, err
	}
	return appendChecked(serde.AppendSchemaID(dst, w.id), b.registered.json, v, w.schema)
}

func (b *bound[T]) Decode(value []byte) (T, error) {
	id, payload, err := serde.CutSchemaID(value)
	if err != nil {
		return *new(T), err
	}
	return b.read(id, payload)
}

// DecodeHeaders implements [serde.HeaderDecoder].
func (b *bound[T]) DecodeHeaders(value []byte, header func(name string) []byte) (T, error) {
	id, _, payload, _, err := b.ids.Locate(value, header)
	if err != nil {
		return *new(T), fmt.Errorf("jsonschema: %w", err)
	}
	return b.read(id, payload)
}

// read looks the id up even where nothing is validated: an id that nobody registered, or of another format, is no JSON
// of this topic.
func (b *bound[T]) read(id int, payload []byte) (T, error) {
	schema, err := b.readers.Get(id, func() (*validator, error) { return b.meet(id) })
	if err != nil {
		return *new(T), err
	}
	if b.trust {
		return b.registered.json.Decode(payload)
	}
	return decodeChecked(payload, b.registered.json, schema)
}

// meet finds out about an id that was not met before.
func (b *bound[T]) meet(id int) (*validator, error) {
	s, err := b.at.Registry.Schema(context.Background(), id) // the registry's own time-out ends it
	if err != nil {
		return nil, fmt.Errorf("jsonschema: %w", err)
	}
	v, err := compileSchema(b.at.Registry, s)
	if err != nil {
		return nil, fmt.Errorf("jsonschema: schema id %d: %w", id, err)
	}
	if b.own != nil {
		v = b.own
	}
	return v, nil
}

// compileSchema compiles a schema of the registry with those it refers to.
func compileSchema(from serde.Registry, s serde.Schema) (*validator, error) {
	if s.Format != serde.FormatJSON {
		return nil, fmt.Errorf("it is a schema of format %s, not JSON Schema; is this the right serde for the topic?", s.Format)
	}
	list, err := registry.References(context.Background(), from, s)
	if err != nil {
		return nil, err
	}
	parts := make(map[string]string, len(list))
	for _, p := range list {
		parts[p.Name] = p.Schema.Text
	}
	return compile(s.Text, parts)
}

func (b *bound[T]) subject() (string, error) {
	title := ""
	if b.own != nil {
		title = b.own.title
	}
	return b.choice.Subject(b.at, title)
}

// prepare finds the schema to write with, and its id.
func (b *bound[T]) prepare() (writer, error) {
	subject, err := b.subject()
	if err != nil {
		return writer{}, err
	}
	switch {
	case b.choice.Given():
		return b.given(subject)
	case b.own == nil:
		return writer{}, fmt.Errorf("jsonschema: writing %T needs jsonschema.Schema, jsonschema.Version or jsonschema.UseLatest: the type does not say its schema", *new(T))
	}
	id, err := b.at.Registry.Register(context.Background(), subject, b.schema())
	if err != nil {
		return writer{}, fmt.Errorf("jsonschema: %w", err)
	}
	return writer{id, b.own}, nil
}

func (b *bound[T]) schema() serde.Schema {
	return serde.Schema{Format: serde.FormatJSON, Text: b.text}
}

// given makes a writer of a schema that the registry has.
func (b *bound[T]) given(subject string) (writer, error) {
	id, s, err := b.choice.Find(b.at.Registry, subject)
	if err == nil {
		var v *validator
		if v, err = compileSchema(b.at.Registry, s); err == nil {
			return writer{id, v}, nil
		}
	}
	return writer{}, fmt.Errorf("jsonschema: subject %q: %w", subject, err)
}

// preflight asks the registry about the schema at Build, without registering it.
func (b *bound[T]) preflight() error {
	if b.choice.Given() || b.own == nil {
		_, err := b.writer.Get(b.prepare)
		return err
	}
	subject, err := b.subject()
	if err != nil {
		return err
	}
	return schemaid.Fits(b.at.Registry, subject, b.schema())
}
