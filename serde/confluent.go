package serde

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The Confluent wire format, which the registry serdes of all three formats share: one zero byte, the id of the schema
// in four bytes, big-endian, then the payload. Protobuf puts message indexes between the id and the payload.

// schemaMagic is the first byte of the wire format.
const schemaMagic = 0

// schemaHeader is the length of magic byte and id.
const schemaHeader = 5

// errSchemaHeader is matched by every error of CutSchemaID.
var errSchemaHeader = errors.New("serde: not in the registry's wire format")

// AppendSchemaID appends the magic byte and id. Ids are positive and fit 31 bits, as a registry gives them out;
// anything else is a mistake of the caller and panics.
//
// For registry serdes; programs have no need of it.
func AppendSchemaID(dst []byte, id int) []byte {
	if id < 0 || id > math.MaxInt32 {
		panic(fmt.Sprintf("serde: schema id %d is outside 31 bits", id))
	}
	return binary.BigEndian.AppendUint32(append(dst, schemaMagic), uint32(id))
}

// CutSchemaID splits a value in the wire format into the id of its schema and the payload, which is a part of b.
//
// For registry serdes; programs have no need of it.
func CutSchemaID(b []byte) (id int, payload []byte, err error) {
	if len(b) < schemaHeader || b[0] != schemaMagic || b[1] > math.MaxInt8 {
		return 0, nil, schemaHeaderError(b)
	}
	return int(binary.BigEndian.Uint32(b[1:])), b[schemaHeader:], nil
}

// schemaHeaderError is apart from CutSchemaID to let that be inlined.
func schemaHeaderError(b []byte) error {
	switch {
	case len(b) < schemaHeader:
		return fmt.Errorf("%w: %d bytes, the schema id alone needs %d; was this written without a registry?", errSchemaHeader, len(b), schemaHeader)
	case b[0] != schemaMagic:
		return fmt.Errorf("%w: it starts with byte 0x%02x, want 0x00; was this written without a registry?", errSchemaHeader, b[0])
	default:
		return fmt.Errorf("%w: schema id 0x%08x is negative", errSchemaHeader, binary.BigEndian.Uint32(b[1:]))
	}
}
