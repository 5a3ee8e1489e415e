// Package avro encodes Go values as Avro.
//
// [Of] needs no registry: each value carries the fingerprint of its schema (Avro's single-object encoding). It suits state
// and topics between weir programs. [Registered] speaks the wire format of a schema registry, and in internal topics does
// as Of does, so that state is readable without the registry.
//
// A struct is a record; its schema is derived from the type, and `avro:"name,option"` tags refine it:
//
//	avro:"name"                       the field's name in Avro; "-" leaves the field out
//	avro:",alias=old"                 a name that older writers used; repeatable
//	avro:",default=0"                 what a reader takes where the writer had no such field; the last option
//	avro:",timestamp-micros"          of a time.Time; also timestamp-millis (what it is without a tag), timestamp-nanos, date
//	avro:",time-micros"               of a time.Duration; without a tag time-millis
//	avro:",decimal(10,2)"             of a *big.Rat: precision and scale
//	avro:",uuid"                      of a string or [16]byte
//
// A pointer is a union with null and defaults to null; slices are arrays, maps with string keys are maps, [N]byte is fixed,
// [Duration] is the duration of Avro. Times keep the precision of their logical type: without a tag, milliseconds. Types
// that hold interfaces, channels or functions are refused at Build. Where the derived schema is not the one wanted (enums,
// unions of several types, a schema kept in a file) give it by [Schema].
//
// [Record], map[string]any and any are dynamic: what they hold depends on the schema that wrote them. So is serde.Row, the form
// that all formats share; [RowType] says how the two kinds of types correspond.
//
// Reading resolves the writer's schema to the reader's by Avro's rules: promotion, defaults, aliases, order of fields, enum
// defaults. A pair of schemas is compiled once and kept.
//
// The work is done by a [Codec]. github.com/twmb/avro is the default; package hamba has github.com/hamba/avro. No
// type of either is visible here. docs/adr/0011-avro-codec.md says why.
package avro
