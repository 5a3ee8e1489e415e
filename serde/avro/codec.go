package avro

import "reflect"

// A Codec compiles schemas to functions. Schemas are JSON text and self-contained; values are pointers to Go values of the
// type that was compiled for, where any, map[string]any and []any hold whatever the schema says.
//
// A codec is trusted with values, not with bytes: what it does not check of those, its decoder must have checked before (see
// [Shield]). A kit, run by both codecs, holds them to the same values and the same bytes.
type Codec interface {
	// Name names the codec in messages and benchmarks.
	Name() string

	// Encoder compiles an encoder of values of type t. The encoder appends to dst, and is used by many goroutines.
	Encoder(schema string, t reflect.Type) (Encoder, error)

	// Decoder compiles a decoder of what the writer's schema wrote, resolved to the reader's, into values of type t.
	// Schemas that do not resolve have been refused before. The decoder returns what is left of b, keeps nothing of it,
	// and is used by many goroutines.
	Decoder(writer, reader string, t reflect.Type) (Decoder, error)
}

// An Encoder appends the encoding of what v points to.
type Encoder func(dst []byte, v any) ([]byte, error)

// A Decoder decodes into what v points to, which is zero before.
type Decoder func(b []byte, v any) (rest []byte, err error)

// Duration is Avro's logical type duration: three amounts that do not convert into each other.
type Duration struct {
	Months, Days, Milliseconds uint32
}

// Default returns the codec that serdes use unless [Using] names another.
func Default() Codec { return twmb{} }
