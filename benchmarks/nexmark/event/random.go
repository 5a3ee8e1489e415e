package event

// random is a splitmix64 sequence. A fresh one per event is what makes events independent of each other, and it costs
// a multiplication to begin, where the generators of math/rand carry state that must be filled.
type random struct{ state uint64 }

func newRandom(seed, n uint64) random {
	// The odd factor differs from the sequence's own step, or event n+1 would begin with event n's second number.
	r := random{seed ^ n*0xd1342543de82ef95}
	r.next()
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is uniform in [0, n) for the small n of this package: the upper 32 bits scaled, without a division.
func (r *random) below(n int64) int64 { return int64(r.next() >> 32 * uint64(n) >> 32) }
