package engine

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/state"
)

// TestClaimedStateIsNotDropped: a restore that has begun keeps what it writes, however long the state was dormant before.
func TestClaimedStateIsNotDropped(t *testing.T) {
	for claimed, want := range map[bool]int{false: 0, true: 1} {
		db, err := state.InMemory().Open(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		ref := taskRef{sub: &Sub{Name: "count", Stores: []Store{{Name: "s", Changelog: true}}}}
		p, c := &Plan{App: "app"}, &Config{Logger: slog.New(slog.DiscardHandler)}
		s := &session{app: New(p, c), plan: p, config: c, base: &base{db: db}, refs: []taskRef{ref}, tasks: map[*Sub][]*runner{ref.sub: {nil}}}
		l := &kafkaLog{s: s}
		l.mu.locks = map[string]*sync.Mutex{}
		b := newStandbys(s, l)
		s.base.warmth.set(ref.name(), 0)
		row := append(keys.Rows(ref.name(), "s"), 'k')
		var batch state.Batch
		batch.Put(row, []byte("v"))
		if err := db.Apply(&batch, false); err != nil {
			t.Fatal(err)
		}
		b.reconcile()
		if len(b.mu.dormant) != 1 {
			t.Fatalf("dormant: %v", b.mu.dormant)
		}
		if claimed {
			b.claim([]taskRef{ref})
		}
		if err := b.drop(ref); err != nil {
			t.Fatal(err)
		}
		rows := 0
		if err := db.Scan(row, keys.End(row), func(_, _ []byte) bool { rows++; return true }); err != nil {
			t.Fatal(err)
		}
		if rows != want {
			t.Errorf("claimed %v: %d rows are left, want %d", claimed, rows, want)
		}
	}
}
