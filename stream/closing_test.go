package stream_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// A meter counts what is read of the state below it: rows asked for by key, and rows that a range has yielded.
type meter struct {
	state.Backend
	gets, rows int
}

func (m *meter) Open(ctx context.Context, dir string) (state.DB, error) {
	db, err := m.Backend.Open(ctx, dir)
	return metered{db, m}, err
}

func (m *meter) String() string { return fmt.Sprintf("%d gets and %d rows of ranges", m.gets, m.rows) }

type metered struct {
	state.DB
	m *meter
}

func (d metered) Get(key []byte, use func([]byte) error) (bool, error) {
	d.m.gets++
	return d.DB.Get(key, use)
}

func (d metered) Scan(from, to []byte, use func(key, value []byte) bool) error {
	return d.DB.Scan(from, to, func(key, value []byte) bool {
		d.m.rows++
		return use(key, value)
	})
}

// Closing a window reads what closes, whatever else is open. All of it was committed and forgotten by the memory, so each row that is looked at is
// read. Sessions are looked at when a 32nd of their gap and grace comes, those of all keys that may close in it together; here 417. So
// of them a few are more than that.
func TestClosingReadsWhatCloses(t *testing.T) {
	const apart, grace = 300, 4_000_000 // ms; no window of one record touches one of the next
	key := map[string]func(i int) string{
		"one key": func(int) string { return "k" },
		"a key each": func(i int) string {
			return fmt.Sprintf("k%05d", i)
		},
	}
	for name, windows := range graced {
		for _, keys := range slices.Sorted(maps.Keys(key)) {
			t.Run(name+" of "+keys, func(t *testing.T) {
				closing := func(open int) (reads string, results int) {
					m := &meter{Backend: state.InMemory()}
					b := stream.New("closing")
					windows(source(b, "in"), grace*time.Millisecond).To(memory.Collect[string, string]("out"))
					d := streamtest.New(t, b, streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) { c.State = m }))
					in, out := d.In[string, int64]("in"), d.Out[string, string]("out")
					for i := range open {
						in.SendAt(millisAt(int64(apart*i)), key[keys](i), 2)
					}
					d.Checkpoint()
					d.Crash()
					in.Advance(millisAt(grace - apart)) // nothing is due by that
					m.gets, m.rows = 0, 0
					in.Advance(millisAt(grace + 2*apart/3))
					reads = m.String()
					d.Checkpoint()
					return reads, len(out.Read())
				}
				least := 10
				if name == "session" {
					least = 1000
				}
				few, n := closing(least)
				many, m := closing(10_000)
				if n == 0 || m != n {
					t.Fatalf("%d results, %d of many", n, m)
				}
				if many != few {
					t.Errorf("of %d open ones: %s; of 10,000: %s", least, few, many)
				}
			})
		}
	}
}
