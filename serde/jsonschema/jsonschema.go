// Package jsonschema encodes values as JSON and holds them to a JSON Schema (drafts 4 to 2020-12; 7 where the schema
// does not say).
//
// [Of] has its schema from the program; [Registered] puts the id of a schema in a registry before the value, as Confluent's serializers
// do. What is written is always validated. What is read is validated too, by the schema that wrote it or the one given by
// [Schema], unless [TrustReads] says otherwise.
//
// The JSON itself is written and read by serde.JSON, or by the serde that [Body] names: package jsontext has serdes for values
// whose shape is known at run time only, and for rows.
//
// Validation takes a second look at the text and costs about ten times what decoding does.
package jsonschema

import (
	"fmt"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
	"github.com/weirstream/weir/serde/registry"
)

// An Option changes how schemas are found and used. A later option of one kind wins.
type Option interface{ jsonschemaOption(*options) }

type option func(*options)

func (o option) jsonschemaOption(to *options) { o(to) }

// options is what the options of one serde add up to.
type options struct {
	choice schemaid.Choice
	text   string // of Schema
	body   any    // a serde.Serde[T]
	trust  bool
}

// Schema gives the schema to Registered. It is registered on first use, unless Version or UseLatest say otherwise, and
// values are read by it, whatever wrote them. It has no references to other schemas.
func Schema(text string) Option {
	return option(func(o *options) { o.text = text })
}

// Body names the serde of the JSON text. Default serde.JSON[T]. It must be one of the T that the option is used with.
func Body[T any](s serde.Serde[T]) Option {
	return option(func(o *options) { o.body = s })
}

// TrustReads turns validation of what is read off.
func TrustReads() Option {
	return option(func(o *options) { o.trust = true })
}

// Subject sets the naming strategy. Default registry.TopicName. The name of the record is the schema's title.
func Subject(s registry.Strategy) Option {
	return option(func(o *options) { o.choice.UseStrategy(s) })
}

// Version writes with a fixed version of the subject and registers nothing.
func Version(n int) Option {
	return option(func(o *options) { o.choice.UseVersion(n) })
}

// UseLatest writes with the subject's latest version, looked up once, and registers nothing.
func UseLatest() Option {
	return option(func(o *options) { o.choice.UseLatest() })
}

func collect(opts []Option) options {
	o := options{choice: schemaid.NewChoice(registry.TopicName)}
	for _, opt := range opts {
		if opt != nil {
			opt.jsonschemaOption(&o)
		}
	}
	return o
}

// bodyOf returns the serde of the text.
func bodyOf[T any](o options) (serde.Serde[T], error) {
	if o.body == nil {
		return serde.JSON[T](), nil
	}
	s, ok := o.body.(serde.Serde[T])
	if !ok {
		return nil, fmt.Errorf("jsonschema: Body has a %T, which is no serde of %T", o.body, *new(T))
	}
	return s, serde.Problem(s)
}

// Of encodes T as JSON that satisfies a schema, without a registry.
func Of[T any](schema string, opts ...Option) serde.Serde[T] {
	o := collect(opts)
	body, err := bodyOf[T](o)
	if err != nil {
		return failed[T]{err}
	}
	v, err := compile(schema, nil)
	if err != nil {
		return failed[T]{err}
	}
	return validated[T]{body, v, o.trust}
}

// failed reports at Build why there is no serde.
type failed[T any] struct{ problem error }

func (f failed[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, f.problem }
func (f failed[T]) Decode([]byte) (T, error)               { return *new(T), f.problem }
func (f failed[T]) Format() string                         { return "json" }
func (f failed[T]) Problem() error                         { return f.problem }

// validated is the serde of Of.
type validated[T any] struct {
	body   serde.Serde[T]
	schema *validator
	trust  bool
}

func (s validated[T]) Append(dst []byte, v T) ([]byte, error) {
	return appendChecked(dst, s.body, v, s.schema)
}

func (s validated[T]) Decode(b []byte) (T, error) {
	if s.trust {
		return s.body.Decode(b)
	}
	return decodeChecked(b, s.body, s.schema)
}

// Format is that of the text: the schema restrains values and does not change how they are written.
func (s validated[T]) Format() string { return s.body.Format() }

func appendChecked[T any](dst []byte, body serde.Serde[T], v T, schema *validator) ([]byte, error) {
	out, err := body.Append(dst, v)
	if err != nil {
		return dst, err
	}
	if err := schema.check(out[len(dst):]); err != nil {
		return dst, err
	}
	return out, nil
}

func decodeChecked[T any](b []byte, body serde.Serde[T], schema *validator) (T, error) {
	if err := schema.check(b); err != nil {
		return *new(T), err
	}
	return body.Decode(b)
}
