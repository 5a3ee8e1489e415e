package avro

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
)

// Registered encodes T in the Confluent wire format with the app's registry (stream.Config.Registry),
// and without the registry in internal topics.
//
// It reads what any schema of the registry wrote, resolved to T's; a schema that does not resolve is a data error of each
// record that has it. It writes with T's schema, which is registered on first use, or as [Version] and [UseLatest] say; what
// the registry objects to is reported by Build when the registry answers then.
//
// A registry that is down pauses the task, when and only when it meets an id that it has not met before.
//
// A dynamic T is read as it was written unless [Schema] says otherwise. To write, a [Record] brings its schema along and a
// serde.Row its type; other dynamic types need [Schema], [Version] or [UseLatest].
func Registered[T any](opts ...Option) serde.Serde[T] {
	o := collect(opts)
	t, err := schemaOf[T](o)
	if err != nil {
		return failed[T]{err}
	}
	if reflect.TypeFor[T]() == reflect.TypeFor[serde.Row]() {
		return any(rowsBySchema(&registered[Record]{options: o, schema: t}, t)).(serde.Serde[T])
	}
	return &registered[T]{options: o, schema: t}
}

// registered is what Registered returns: a plan, which each use binds to its topic.
type registered[T any] struct {
	options
	schema *Type // nil: whatever was written
}

var errUnbound = errors.New("avro: this serde depends on its topic; use it in a source or sink, or bind it by serde.Bind")

func (r *registered[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, errUnbound }
func (r *registered[T]) Decode([]byte) (T, error)               { return *new(T), errUnbound }

// Format implements [serde.Serde].
func (r *registered[T]) Format() string {
	if r.schema == nil {
		return inlineFormat
	}
	return formatPrefix + r.schema.text
}

// Bind implements [serde.Binder].
func (r *registered[T]) Bind(at serde.Binding) (serde.Serde[T], error) {
	switch {
	case at.Internal && r.schema == nil:
		return bindInline[T](r.options)
	case at.Internal && isRecord[T]():
		return any(ofRecord(r.options, r.schema)).(serde.Serde[T]), nil
	case at.Internal:
		return newSingle[T](r.options, r.schema), nil
	case at.Registry == nil:
		return nil, fmt.Errorf("avro: topic %q: Registered needs a registry; set Registry in stream.Config, or use avro.Of", at.Topic)
	case isRecord[T]():
		b, err := bindRecord(r.options, r.schema, at)
		return any(b).(serde.Serde[T]), err
	}
	b := newBound[T](r.options, r.schema, at)
	if at.Writes {
		if err := b.preflight(); err != nil {
			return nil, fmt.Errorf("avro: topic %q: %w", at.Topic, err)
		}
	}
	return b, nil
}

func isRecord[T any]() bool { return reflect.TypeFor[T]() == reflect.TypeFor[Record]() }

// bound is a serde at its topic.
type bound[T any] struct {
	reading[T]
	writing writing
	values  *values[T]
}

func newBound[T any](o options, t *Type, at serde.Binding) *bound[T] {
	b := &bound[T]{
		reading: reading[T]{codec: o.codec, reader: t, ids: schemaid.Locator{Registry: at.Registry, Key: at.Key}},
		writing: writing{options: o, at: at, goType: reflect.TypeFor[T](), schema: t},
		values:  newValues[T](),
	}
	b.reading.values = b.values
	return b
}

// preflight asks the registry about the schema at Build. A registry that does not answer is asked again when the first
// value is written: starting must not depend on it.
func (b *bound[T]) preflight() error {
	err := b.writing.check()
	if errors.Is(err, serde.ErrRegistryUnavailable) {
		return nil
	}
	return err
}

func (b *bound[T]) Append(dst []byte, v T) ([]byte, error) {
	w, err := b.writing.prepare()
	if err != nil {
		return dst, err
	}
	return b.values.append(serde.AppendSchemaID(dst, w.id), v, w.encode)
}

func (b *bound[T]) Format() string {
	if b.reader == nil {
		return inlineFormat
	}
	return formatPrefix + b.reader.text
}
