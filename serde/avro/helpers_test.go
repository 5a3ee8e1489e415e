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

// must1 is must where there is no test to fail: before one starts.
func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
