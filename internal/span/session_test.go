package span

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type visit struct{ at, gap int64 }

// batch sorts all records and cuts where none reaches the next.
func batch(s Sessions, visits []visit) []Session {
	visits = slices.SortedFunc(slices.Values(visits), func(a, b visit) int { return int(a.at - b.at) })
	var all []Session
	for _, v := range visits {
		if n := len(all); n > 0 && v.at <= all[n-1].Reach {
			all[n-1].End, all[n-1].Reach = v.at+1, max(all[n-1].Reach, v.at+v.gap)
			continue
		}
		all = append(all, Session{v.at, v.at + 1, v.at + v.gap})
	}
	return all
}

// merge puts a record into sorted sessions as an operator does: in one pass over those that it touches.
func merge(all []Session, x Session) []Session {
	from := slices.IndexFunc(all, x.Touches)
	if from < 0 {
		from, _ = slices.BinarySearchFunc(all, x, func(a, b Session) int { return int(a.Start - b.Start) })
		return slices.Insert(all, from, x)
	}
	to := from
	for to < len(all) && all[to].Touches(x) {
		x = x.Merge(all[to])
		to++
	}
	return slices.Replace(all, from, to, x)
}

func TestSessionsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for round := range 3000 {
		s := Sessions{Gap: 1 + r.Int64N(10), Grace: r.Int64N(5)}
		visits := make([]visit, 1+r.IntN(30))
		var all []Session
		for i := range visits {
			visits[i] = visit{r.Int64N(200) - 100, s.Gap}
			if round%2 == 1 { // a gap per record
				visits[i].gap = r.Int64N(12)
			}
			all = merge(all, s.Of(visits[i].at, visits[i].gap))
		}
		if want := batch(s, visits); !slices.Equal(all, want) {
			t.Fatalf("%v: %v, want %v", visits, all, want)
		}
		if round%2 == 0 {
			for _, x := range all {
				if s.From(x.Span()) != x || s.Close(x) != x.End+s.Gap+s.Grace {
					t.Fatalf("%v closes at %d and comes back as %v", x, s.Close(x), s.From(x.Span()))
				}
			}
		}
	}
}

func TestSessionEdges(t *testing.T) {
	s := Sessions{Gap: 5}
	if a, b := s.Of(0, 5), s.Of(5, 5); !a.Touches(b) || !b.Touches(a) {
		t.Error("records exactly a gap apart are two sessions")
	}
	if a, b := s.Of(0, 5), s.Of(6, 5); a.Touches(b) || b.Touches(a) {
		t.Error("records further than a gap apart are one session")
	}
	if x := s.Of(0, 5); s.Late(x, 5) || !s.Late(x, 6) {
		t.Error("a session of a record at 0 must close at 6: a record at 5 still belongs to it")
	}
	if x := s.Of(Never, Never); x.Reach != Never || s.Close(x) != Never {
		t.Errorf("an endless gap wraps: %v", x)
	}
}
