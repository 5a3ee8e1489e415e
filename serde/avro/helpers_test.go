package avro_test

import (
	"encoding/hex"
	"testing"
)

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	return must(t, b, err)
}
