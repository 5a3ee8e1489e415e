// Package partition maps keys to partitions as Kafka's Java client does: sinks and both exchanges use it, so that records written by
// any client of Kafka meet the state of their key, and a topology keeps its state when its exchange changes.
package partition

import "encoding/binary"

// The constants of MurmurHash2 and the seed that Kafka chose.
const (
	seed = 0x9747b28c
	mul  = 0x5bd1e995
)

// Murmur2 is Kafka's hash of a key: the 32-bit MurmurHash2 with Kafka's seed.
func Murmur2(key []byte) int32 {
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * mul
		k = (k ^ k>>24) * mul
		h = h*mul ^ k
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(key[0])) * mul
	}
	h = (h ^ h>>13) * mul
	return int32(h ^ h>>15)
}

// Of is the partition of n that a key belongs to. n must be positive.
func Of(key []byte, n int32) int32 {
	// Java's toPositive clears the sign; it is not the absolute value.
	return (Murmur2(key) & 0x7fffffff) % n
}
