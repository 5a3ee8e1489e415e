package protobuf

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weirstream/weir/serde"
)

// A form knows how one Go type is a message: generated, dynamic, or a row.
type form[T any] interface {
	// message is the type's own schema; nil when it has none.
	message() protoreflect.MessageDescriptor
	// encoder returns what appends the payload of a message by this schema, which is the type's own or one that covers it.
	encoder(md protoreflect.MessageDescriptor) func(dst []byte, v T) ([]byte, error)
	// decoder returns what reads a payload that md wrote, into the type's own schema when it has one.
	decoder(md protoreflect.MessageDescriptor) (func(b []byte) (T, error), error)
}

// formOf picks the form of T.
func formOf[T any](md protoreflect.MessageDescriptor) (form[T], error) {
	var f any
	switch t := reflect.TypeFor[T](); {
	case t == reflect.TypeFor[*dynamicpb.Message]():
		f = dynamic{md}
	case t == reflect.TypeFor[serde.Row]():
		if md != nil {
			if _, err := RowType(md); err != nil {
				return nil, err
			}
		}
		f = rowForm{md}
	case t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[proto.Message]()):
		if md != nil {
			return nil, fmt.Errorf("protobuf: %v brings its own schema; protobuf.Message is for dynamic messages and rows", t)
		}
		f = generated[T]{any(*new(T)).(proto.Message).ProtoReflect().Type()}
	default:
		return nil, fmt.Errorf("protobuf: %v is no message: want a pointer to a generated one, *dynamicpb.Message or serde.Row", t)
	}
	return f.(form[T]), nil
}

// marshal writes maps in order, which makes equal messages equal keys.
var marshal = proto.MarshalOptions{Deterministic: true}

var errNil = errors.New("protobuf: nil message: wrap the serde in serde.Optional where there may be none")

func wrap(err error) error { return fmt.Errorf("protobuf: %w", err) }

// generated is the form of generated messages.
type generated[T any] struct{ typ protoreflect.MessageType }

func (g generated[T]) message() protoreflect.MessageDescriptor { return g.typ.Descriptor() }

// encoder ignores md: fields have the same numbers in it, or the schema would not have been taken.
func (g generated[T]) encoder(protoreflect.MessageDescriptor) func([]byte, T) ([]byte, error) {
	return func(dst []byte, v T) ([]byte, error) { return appendMessage(dst, any(v).(proto.Message)) }
}

func appendMessage(dst []byte, m proto.Message) ([]byte, error) {
	if !m.ProtoReflect().IsValid() {
		return dst, errNil
	}
	out, err := marshal.MarshalAppend(dst, m)
	if err != nil {
		return dst, wrap(err)
	}
	return out, nil
}

func (g generated[T]) decoder(protoreflect.MessageDescriptor) (func([]byte) (T, error), error) {
	return func(b []byte) (T, error) {
		m := g.typ.New().Interface()
		if err := proto.Unmarshal(b, m); err != nil {
			return *new(T), wrap(err)
		}
		return m.(T), nil
	}, nil
}

// dynamic is the form of messages by descriptor.
type dynamic struct {
	md protoreflect.MessageDescriptor
}

func (d dynamic) message() protoreflect.MessageDescriptor { return d.md }

func (d dynamic) encoder(md protoreflect.MessageDescriptor) func([]byte, *dynamicpb.Message) ([]byte, error) {
	return func(dst []byte, v *dynamicpb.Message) ([]byte, error) {
		if v == nil {
			return dst, errNil
		}
		if got := v.Descriptor().FullName(); got != md.FullName() {
			return dst, fmt.Errorf("protobuf: a message %s where %s is written", got, md.FullName())
		}
		return appendMessage(dst, v)
	}
}

func (d dynamic) decoder(md protoreflect.MessageDescriptor) (func([]byte) (*dynamicpb.Message, error), error) {
	if d.md != nil {
		md = d.md
	}
	return func(b []byte) (*dynamicpb.Message, error) {
		m := dynamicpb.NewMessage(md)
		if err := proto.Unmarshal(b, m); err != nil {
			return nil, wrap(err)
		}
		return m, nil
	}, nil
}

// rowForm is the form of rows.
type rowForm struct {
	md protoreflect.MessageDescriptor
}

func (r rowForm) message() protoreflect.MessageDescriptor { return r.md }

func (r rowForm) encoder(md protoreflect.MessageDescriptor) func([]byte, serde.Row) ([]byte, error) {
	return func(dst []byte, v serde.Row) ([]byte, error) {
		m, err := FromRow(v, md)
		if err != nil {
			return dst, err
		}
		return appendMessage(dst, m)
	}
}

// rowDepth bounds how deep the messages of a row may be nested, as in every format.
const rowDepth = 500

func (r rowForm) decoder(md protoreflect.MessageDescriptor) (func([]byte) (serde.Row, error), error) {
	if r.md != nil {
		md = r.md
	}
	typ, err := RowType(md)
	if err != nil {
		return nil, err
	}
	return func(b []byte) (serde.Row, error) {
		m := dynamicpb.NewMessage(md)
		if err := (proto.UnmarshalOptions{RecursionLimit: rowDepth}).Unmarshal(b, m); err != nil {
			return serde.Row{}, wrap(err)
		}
		return toRow(m, typ)
	}, nil
}
