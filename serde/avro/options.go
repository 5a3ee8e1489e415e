package avro

import (
	"fmt"
	"reflect"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
	"github.com/weirstream/weir/serde/registry"
)

// An Option changes how schemas are found. A later option of one kind wins.
type Option interface{ avroOption(*options) }

type option func(*options)

func (o option) avroOption(to *options) { o(to) }

// options is what the options of one serde add up to.
type options struct {
	choice          schemaid.Choice
	text            string // of Schema
	name, namespace string
	codec           Codec
}

// Subject sets the naming strategy. Default registry.TopicName.
func Subject(s registry.Strategy) Option {
	return option(func(o *options) { o.choice.UseStrategy(s) })
}

// Schema gives the schema of T as JSON instead of deriving it from the type. It is what values are read as, and written as
// unless Version or UseLatest say otherwise.
func Schema(avsc string) Option {
	return option(func(o *options) { o.text = avsc })
}

// Name sets the record's name and namespace in the derived schema, as "com.example.Order". Default: the Go type's name
// without a namespace. It is needed for instances of generic types, whose Go names are not Avro names.
func Name(full string) Option {
	return option(func(o *options) { o.namespace, o.name = splitName(full) })
}

// Version writes with a fixed version of the subject and registers nothing. Default: register T's schema on first use.
func Version(n int) Option {
	return option(func(o *options) { o.choice.UseVersion(n) })
}

// UseLatest writes with the subject's latest version, looked up once, and registers nothing.
func UseLatest() Option {
	return option(func(o *options) { o.choice.UseLatest() })
}

// Using selects the codec. Default github.com/twmb/avro.
func Using(c Codec) Option {
	return option(func(o *options) { o.codec = c })
}

func collect(opts []Option) options {
	o := options{choice: schemaid.NewChoice(registry.TopicName), codec: twmb{}}
	for _, opt := range opts {
		if opt != nil {
			opt.avroOption(&o)
		}
	}
	if o.codec == nil {
		o.codec = twmb{}
	}
	return o
}

func splitName(full string) (namespace, name string) {
	for i := len(full) - 1; i >= 0; i-- {
		if full[i] == '.' {
			return full[:i], full[i+1:]
		}
	}
	return "", full
}

// isDynamic tells whether values of T have the shape that their schema says.
func isDynamic[T any]() bool {
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[Record](), reflect.TypeFor[serde.Row](), reflect.TypeFor[map[string]any](), reflect.TypeFor[any]():
		return true
	}
	return false
}

// schemaOf is the schema of T: the one given, the one its type brings along, or a derived one. It is nil, without an
// error, for a dynamic T without a schema.
func schemaOf[T any](o options) (*Type, error) {
	text := o.text
	if text == "" {
		if isDynamic[T]() {
			return nil, nil
		}
		var err error
		if text, err = ownSchema[T](); err != nil {
			return nil, err
		}
	}
	if text == "" {
		var err error
		if text, err = derive[T](o.name, o.namespace); err != nil {
			return nil, fmt.Errorf("avro: the schema of %v cannot be derived: %w; give it by avro.Schema", reflect.TypeFor[T](), err)
		}
	}
	return Parse(text)
}

// ownSchema asks generated types for the schema they were generated from: by AvroSchema() string, or by a Schema method that
// returns text or something that marshals to the schema, as the generators of gogen-avro and hamba/avro make it.
func ownSchema[T any]() (string, error) {
	t := reflect.TypeFor[T]()
	v := reflect.New(t).Elem()
	if t.Kind() == reflect.Pointer {
		v = reflect.New(t.Elem())
	} else if t.Kind() != reflect.Interface {
		v = v.Addr()
	}
	switch s := v.Interface().(type) {
	case interface{ AvroSchema() string }:
		return s.AvroSchema(), nil
	case interface{ Schema() string }:
		return s.Schema(), nil
	}
	m := v.MethodByName("Schema")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return "", nil
	}
	s, ok := m.Call(nil)[0].Interface().(interface{ MarshalJSON() ([]byte, error) })
	if !ok {
		return "", nil
	}
	text, err := s.MarshalJSON()
	return string(text), err
}

// SchemaOf returns the schema that Of and Registered use for T, as JSON.
func SchemaOf[T any](opts ...Option) (string, error) {
	t, err := schemaOf[T](collect(opts))
	if err != nil || t == nil {
		return "", err
	}
	return t.String(), nil
}
