package stream

import (
	"encoding/binary"
	"errors"
)

// heard is what the results of a foreign-key join know of a left row beside the result: the latest version that something was heard of, and
// what is still on its way. It is kept while the row names another, and else only as long as an answer to an older version may come.
//
// A change of the row that takes a subscription back has the matcher say that it is done: all that this matcher says of older versions comes
// before that. What else comes of such a change, be it the answer of the next matcher or that the row names nobody any more, says that there was
// something to take back (moved). The two meet here. When the latest version names nobody and each moved has met its released, nothing older is
// on its way, by induction from the latest version to the first: the one before it either named nobody, then what was said of it went the
// same way as the latest and came before it; or it was taken back, and released came behind its answers; or it was replaced at the
// same matcher, and its answers came before those of the next one.
type heard struct {
	latest int64  // the version, and in the lowest bit whether it names nobody
	open   uint64 // the sum of the marks of versions that moved, without those that were released
}

// hear takes in what came of a version; alone means that it names nobody. It reports whether it is older than what was heard before, and
// so says nothing of the row.
func (h *heard) hear(version int64, moved, released, alone bool) (stale bool) {
	switch {
	case moved:
		h.open += markOf(version)
	case released:
		h.open -= markOf(version)
		return true
	}
	if version < h.latest>>1 {
		return true
	}
	h.latest = version << 1
	if alone {
		h.latest |= 1
	}
	return false
}

// settled reports whether nothing older than the latest version can come any more, and nothing has to be known of it.
func (h heard) settled() bool { return h.latest&1 != 0 && h.open == 0 }

// markOf scatters versions over all numbers, as splitmix64 does: sums of different ones are not taken for each other, as those of the versions
// themselves would be. Released may come before moved, and of several moves in any order, so counting them would not do either.
func markOf(version int64) uint64 {
	z := (uint64(version) + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A heardSerde writes the latest version, and the sum where it is not 0.
type heardSerde struct{}

func (heardSerde) Append(dst []byte, h heard) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(h.latest))
	if h.open != 0 {
		dst = binary.BigEndian.AppendUint64(dst, h.open)
	}
	return dst, nil
}

var errHeard = errors.New("what was heard of a row of a foreign-key join is damaged")

func (heardSerde) Decode(b []byte) (h heard, err error) {
	latest, n := binary.Uvarint(b)
	switch rest := len(b) - n; {
	case n <= 0 || rest != 0 && rest != 8:
		return h, errHeard
	case rest == 8:
		h.open = binary.BigEndian.Uint64(b[n:])
	}
	h.latest = int64(latest)
	return h, nil
}

func (heardSerde) Format() string { return "heard/1" }
