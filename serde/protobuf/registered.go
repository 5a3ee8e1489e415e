package protobuf

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
)

// Registered encodes T in the Confluent wire format with the app's registry (stream.Config.Registry), and as [Of] does in
// internal topics, which need no registry.
//
// It reads what any schema of the registry wrote, once that schema is seen to fit: the message has T's full name, and no field that both have
// changed its type. It writes with T's schema, which is registered on first use together with the files that it imports,
// each under its path as the subject; or as [Version] and [UseLatest] say. What the registry objects to is reported by Build when
// the registry answers then; of a schema with imports, which not every registry can check, by the first record that is written.
//
// A registry that is down pauses the task, when and only when it meets an id that it has not met before.
func Registered[T any](opts ...Option) serde.Serde[T] {
	o := collect(opts)
	f, err := formOf[T](o.message)
	if err != nil {
		return failed[T]{err}
	}
	return registered[T]{o, f}
}

// registered is what Registered returns: a plan, which each use binds to its topic.
type registered[T any] struct {
	options
	form form[T]
}

var errUnbound = errors.New("protobuf: this serde depends on its topic; use it in a source or sink, or bind it by serde.Bind")

func (r registered[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, errUnbound }
func (r registered[T]) Decode([]byte) (T, error)               { return *new(T), errUnbound }

func (r registered[T]) Format() string {
	if r.form.message() == nil {
		return formatPrefix
	}
	return formatPrefix + shapeOf(r.form.message()).String()
}

// Bind implements [serde.Binder].
func (r registered[T]) Bind(at serde.Binding) (serde.Serde[T], error) {
	switch {
	case at.Internal && r.form.message() == nil:
		return nil, fmt.Errorf("protobuf: state of %T needs its schema, for there is no registry in it; give it by protobuf.Message", *new(T))
	case at.Internal:
		return newPlain(r.form), nil
	case at.Registry == nil:
		return nil, fmt.Errorf("protobuf: topic %q: Registered needs a registry; set Registry in stream.Config, or use protobuf.Of", at.Topic)
	}
	b := &bound[T]{registered: r, at: at, ids: schemaid.Locator{Registry: at.Registry, Key: at.Key}}
	if at.Writes {
		if err := b.preflight(); err != nil && !errors.Is(err, serde.ErrRegistryUnavailable) {
			return nil, fmt.Errorf("protobuf: topic %q: %w", at.Topic, err)
		}
	}
	return b, nil
}

// bound is a serde at its topic.
type bound[T any] struct {
	registered[T]
	at      serde.Binding
	ids     schemaid.Locator
	writer  schemaid.Once[writer[T]]
	readers schemaid.Table[written, func(b []byte) (T, error)]
}

// A writer is a registered schema, ready to encode.
type writer[T any] struct {
	head   []byte // magic byte, id and indexes
	encode func(dst []byte, v T) ([]byte, error)
}

// written says which message of which schema wrote a value.
type written struct {
	id      int
	indexes string // encoded
}

func (b *bound[T]) Append(dst []byte, v T) ([]byte, error) {
	w, err := b.writer.Get(b.prepare)
	if err != nil {
		return dst, err
	}
	out, err := w.encode(append(dst, w.head...), v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (b *bound[T]) Decode(value []byte) (T, error) {
	id, rest, err := serde.CutSchemaID(value)
	if err != nil {
		return *new(T), err
	}
	indexes, payload, err := cutIndexes(rest)
	if err != nil {
		return *new(T), err
	}
	return b.read(id, indexes, payload)
}

// DecodeHeaders implements [serde.HeaderDecoder]. Indexes follow the id, so they are in the header when that is.
func (b *bound[T]) DecodeHeaders(value []byte, header func(name string) []byte) (T, error) {
	id, more, payload, inHeader, err := b.ids.Locate(value, header)
	if err != nil {
		return *new(T), wrap(err)
	}
	rest := payload
	if inHeader {
		rest = more
	}
	indexes, behind, err := cutIndexes(rest)
	if err != nil {
		return *new(T), err
	}
	if !inHeader {
		payload = behind
	}
	return b.read(id, indexes, payload)
}

func (b *bound[T]) read(id int, indexes, payload []byte) (T, error) {
	decode, err := b.readers.Get(written{id, string(indexes)}, func() (func([]byte) (T, error), error) { return b.meet(id, indexes) })
	if err != nil {
		return *new(T), err
	}
	return decode(payload)
}

// meet finds out about a message that was not met before.
func (b *bound[T]) meet(id int, indexes []byte) (func([]byte) (T, error), error) {
	s, err := b.at.Registry.Schema(context.Background(), id) // the registry's own time-out ends it
	if err != nil {
		return nil, wrap(err)
	}
	file, err := compileSchema(b.at.Registry, s)
	if err != nil {
		return nil, fmt.Errorf("schema id %d: %w", id, err)
	}
	md, err := messageAt(file, indexes)
	if err != nil {
		return nil, fmt.Errorf("schema id %d: %w", id, err)
	}
	if own := b.form.message(); own != nil {
		if md.FullName() != own.FullName() {
			return nil, fmt.Errorf("protobuf: schema id %d: the value is a %s, and this serde reads %s", id, md.FullName(), own.FullName())
		}
		if err := readable(shapeOf(md), shapeOf(own)); err != nil {
			return nil, fmt.Errorf("protobuf: schema id %d: %w", id, err)
		}
	}
	return b.form.decoder(md)
}

// subject names the subject that this use belongs to.
func (b *bound[T]) subject() (string, error) {
	record := ""
	if md := b.form.message(); md != nil {
		record = string(md.FullName())
	}
	return b.choice.Subject(b.at, record)
}

// prepare finds the schema to write with, and its id.
func (b *bound[T]) prepare() (writer[T], error) {
	subject, err := b.subject()
	if err != nil {
		return writer[T]{}, err
	}
	if b.choice.Given() {
		return b.given(subject)
	}
	md := b.form.message()
	if md == nil {
		return writer[T]{}, fmt.Errorf("protobuf: writing %T needs protobuf.Message, protobuf.Version or protobuf.UseLatest: the type does not say its schema", *new(T))
	}
	p := publisher{b.at.Registry, true}
	s, err := p.schema(md.ParentFile())
	if err != nil {
		return writer[T]{}, err
	}
	id, err := b.at.Registry.Register(context.Background(), subject, s)
	if err != nil {
		return writer[T]{}, wrap(err)
	}
	return b.write(id, md), nil
}

func (b *bound[T]) write(id int, md protoreflect.MessageDescriptor) writer[T] {
	return writer[T]{appendIndexes(serde.AppendSchemaID(nil, id), indexesOf(md)), b.form.encoder(md)}
}

// given makes a writer of a schema that the registry has.
func (b *bound[T]) given(subject string) (writer[T], error) {
	id, s, err := b.choice.Find(b.at.Registry, subject)
	if err != nil {
		return writer[T]{}, wrap(err)
	}
	file, err := compileSchema(b.at.Registry, s)
	if err != nil {
		return writer[T]{}, fmt.Errorf("subject %q: %w", subject, err)
	}
	own, name := b.form.message(), ""
	if own != nil {
		name = string(own.FullName())
	}
	md, err := find(file, name)
	if err != nil {
		return writer[T]{}, fmt.Errorf("subject %q: %w", subject, err)
	}
	if own != nil {
		if err := readable(shapeOf(own), shapeOf(md)); err != nil { // what we write is read by it
			return writer[T]{}, fmt.Errorf("protobuf: subject %q: %w", subject, err)
		}
	}
	return b.write(id, md), nil
}

// preflight asks the registry about the schema at Build, without registering it.
func (b *bound[T]) preflight() error {
	if b.choice.Given() || b.form.message() == nil {
		_, err := b.writer.Get(b.prepare)
		return err
	}
	subject, err := b.subject()
	if err != nil {
		return err
	}
	s, err := publisher{b.at.Registry, false}.schema(b.form.message().ParentFile())
	if errors.Is(err, errNotRegistered) {
		return nil // an import is new, and until it is registered no check would understand the schema
	}
	if err != nil {
		return err
	}
	if len(s.References) > 0 {
		// Apicurio 3.3.3 does not follow references when it checks, and calls the schema invalid; it does when it
		// registers, which is soon enough.
		return nil
	}
	return schemaid.Fits(b.at.Registry, subject, s)
}
