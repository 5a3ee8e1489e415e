package serde

import (
	"context"
	"errors"
)

// The formats a [Schema] may have, spelled as a Confluent-compatible registry spells them.
const (
	FormatAvro     = "AVRO"
	FormatProtobuf = "PROTOBUF"
	FormatJSON     = "JSON" // JSON Schema
)

// A Schema is the text of a schema and the other schemas that its text names. Once registered it never changes.
type Schema struct {
	Format     string // FormatAvro, FormatProtobuf or FormatJSON; a registry answers with nothing else for these three
	Text       string
	References []Reference
}

// A Reference says where a name used in a schema's text is defined: an import path in Protobuf, a full name in Avro,
// a URI in JSON Schema.
type Reference struct {
	Name    string
	Subject string
	Version int
}

// A Registry finds schemas. serde/registry talks to a real one, serde/registry/registrytest is one in memory.
//
// It is used by many goroutines at once. Schema is called on the record path when an id is new, so an implementation
// keeps ids forever and remembers unknown ones for a short while. Each call ends by its context, and by a time-out of
// the implementation's own, whichever is first.
//
// Errors match one of three: [ErrUnknownSchema] (the registry answered: there is no such schema),
// [ErrIncompatible] (it refused this one) and [ErrRegistryUnavailable] (it did not answer).
type Registry interface {
	// Schema returns the schema that has this id, in any subject.
	Schema(ctx context.Context, id int) (Schema, error)
	// Register adds a version to a subject, or finds the version that has this schema already.
	Register(ctx context.Context, subject string, s Schema) (id int, err error)
	// Latest returns the newest version of a subject.
	Latest(ctx context.Context, subject string) (id int, s Schema, err error)
	// Version returns one version of a subject.
	Version(ctx context.Context, subject string, version int) (id int, s Schema, err error)
	// Compatible returns nil when s may be registered under subject, also when the subject is new; else an error that
	// matches ErrIncompatible and has the registry's own words.
	Compatible(ctx context.Context, subject string, s Schema) error
}

var (
	// ErrUnknownSchema is matched by errors about a schema, subject or version that the registry does not have.
	// On the record path it is a data error: the record's bytes name a schema that nobody registered.
	ErrUnknownSchema = errors.New("serde: unknown schema")

	// ErrIncompatible is matched when a registry refuses a schema because of those it has, and when state written
	// in one format cannot be read in another.
	ErrIncompatible = errors.New("serde: incompatible schema")

	// ErrRegistryUnavailable is matched when a registry cannot be reached or is failing. It says nothing about the
	// record: the task waits and tries again, and no error policy is asked.
	ErrRegistryUnavailable = errors.New("serde: schema registry unavailable")
)

// A HeaderDecoder is a serde whose schema may be named in a record's headers instead of in the first bytes of the value.
//
// For the engine: a source whose serde has this method calls it in place of Decode for records that have headers.
type HeaderDecoder[T any] interface {
	// DecodeHeaders is Decode with a look at the headers. header returns the last value of a header, nil when there is
	// none; like b it is valid only during the call.
	DecodeHeaders(b []byte, header func(name string) []byte) (T, error)
}
