package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// said is what is on its way to the results of one left row.
type said struct {
	version                int64
	moved, released, alone bool
}

// asked is what is on its way to the matcher of a foreign key.
type asked struct {
	version     int64
	gone, moved bool
}

// ways are those between the parts of a foreign-key join, for one left row. Each keeps its order; which of them moves on next is chance.
type ways struct {
	r          *rand.Rand
	version    int64
	names      int // the foreign key; 0 is none
	direct     []said
	toMatcher  [4][]asked
	subscribed [4]int64 // by foreign key, the version of the subscription
	answers    [4][]said

	stored  map[string]heard // one row at most
	applied int64            // the version that the result is of
}

// change gives the left row a foreign key, or takes its row away.
func (w *ways) change(to int) {
	w.version++
	moved := w.names != 0 && w.names != to
	if moved {
		w.toMatcher[w.names] = append(w.toMatcher[w.names], asked{version: w.version, gone: true})
	}
	if w.names = to; to == 0 {
		w.direct = append(w.direct, said{version: w.version, moved: moved, alone: true})
		return
	}
	w.toMatcher[to] = append(w.toMatcher[to], asked{version: w.version, moved: moved})
}

// match has a matcher take what comes next, or tell of a change of its row.
func (w *ways) match(fk int) {
	q := w.toMatcher[fk]
	if len(q) == 0 || w.r.IntN(4) == 0 {
		if v := w.subscribed[fk]; v != 0 {
			w.answers[fk] = append(w.answers[fk], said{version: v})
		}
		return
	}
	w.toMatcher[fk] = q[1:]
	a := said{version: q[0].version, moved: q[0].moved, released: q[0].gone}
	if w.subscribed[fk] = a.version; q[0].gone {
		w.subscribed[fk] = 0
	}
	w.answers[fk] = append(w.answers[fk], a)
}

// hear has the results take what comes next on one of the ways.
func (w *ways) hear(q *[]said) error {
	if len(*q) == 0 {
		return nil
	}
	a := (*q)[0]
	*q = (*q)[1:]
	h := w.stored["row"]
	stale := h.hear(a.version, a.moved, a.released, a.alone)
	if w.stored["row"] = h; h.settled() {
		delete(w.stored, "row")
	}
	switch {
	case stale && !a.released && a.version == w.applied && h.latest>>1 == a.version:
		return fmt.Errorf("another answer to version %d is not taken", a.version)
	case stale:
	case a.version < w.applied:
		return fmt.Errorf("version %d is taken behind %d", a.version, w.applied)
	default:
		w.applied = a.version
	}
	return nil
}

func (w *ways) empty() bool {
	n := len(w.direct)
	for fk := range w.toMatcher {
		n += len(w.toMatcher[fk]) + len(w.answers[fk])
	}
	return n == 0
}

// Whatever overtakes what: no answer is taken behind that of a later version, and nothing is kept of a row that names nobody once all
// has come.
func TestWhatWasHeardIsForgotten(t *testing.T) {
	for seed := range uint64(20_000) {
		w := &ways{r: rand.New(rand.NewPCG(seed, 3)), stored: map[string]heard{}}
		left := 1 + w.r.IntN(12)
		for left > 0 || !w.empty() {
			var err error
			switch fk := w.r.IntN(4); w.r.IntN(4) {
			case 0:
				if left > 0 {
					left--
					w.change(w.r.IntN(4) * min(left, 1)) // the last one deletes
				}
			case 1:
				if left > 0 || len(w.toMatcher[fk]) > 0 {
					w.match(fk)
				}
			case 2:
				err = w.hear(&w.answers[fk])
			default:
				err = w.hear(&w.direct)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if len(w.stored) > 0 || w.applied != w.version {
			t.Fatalf("seed %d: version %d of %d is the result, kept is %v", seed, w.applied, w.version, w.stored)
		}
	}
}

// What was heard of a row comes back as it was stored.
func TestHeardReadsWhatItWrites(t *testing.T) {
	for _, h := range []heard{{}, {latest: 2}, {latest: 1<<62 + 1}, {open: 1}, {latest: 7, open: 1 << 63}} {
		b, err := heardSerde{}.Append([]byte("x"), h)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (heardSerde{}).Decode(b[1:]); err != nil || got != h {
			t.Errorf("%+v comes back as %+v, %v", h, got, err)
		}
		for n := range len(b) - 1 {
			if got, err := (heardSerde{}).Decode(b[1 : 1+n]); err == nil && got == h {
				t.Errorf("%+v is read from %d of its %d bytes", h, n, len(b)-1)
			}
		}
	}
}
