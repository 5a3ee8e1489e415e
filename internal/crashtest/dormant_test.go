package crashtest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	layout "github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// rowsOf is how many keys a disk has of a task.
func (d *disk) rowsOf(t *testing.T, task string) (n int) {
	t.Helper()
	db, err := d.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	prefix := layout.Task(task)
	if err := db.Scan(prefix, layout.End(prefix), func(_, _ []byte) bool { n++; return true }); err != nil {
		t.Fatal(err)
	}
	return n
}

// asked is a connection whose member can be asked what it would tell.
type asked struct {
	wire.Log
	tells *func() []byte
}

func (a asked) Join(ctx context.Context, c wire.GroupConfig) (wire.Membership, error) {
	*a.tells = c.UserData
	return a.Log.Join(ctx, c)
}

// TestDormantState: what a process has of a task that went elsewhere is kept and measured for an hour that it works, so that the task may come back,
// and then dropped. When the task comes back all the same, its state is restored from nothing.
func TestDormantState(t *testing.T) {
	w, err := newWorld(scenario{name: "dormant", build: count, check: sums, members: 2, disk: true, config: func(c *stream.Config) {
		overKafka(c)
		c.MoveLag = 3
	}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	had, has := w.procs[0], w.procs[1]
	var tells func() []byte
	had.through = func(l wire.Log) wire.Log { return asked{l, &tells} }
	w.procs = []*process{had}
	for w.sent < records/2 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.rest(t)
	}
	w.procs = []*process{had, has}
	w.rest(t)
	if len(has.running()) == 0 || len(had.running()) == 0 {
		t.Fatalf("they run %v and %v", had.running(), has.running())
	}
	task := has.running()[0]
	lag := func() (int64, bool) {
		var said struct{ State map[string]int64 }
		if err := json.Unmarshal(tells(), &said); err != nil {
			t.Fatal(err)
		}
		n, here := said.State[task]
		return n, here
	}
	before, here := lag()
	if !here {
		t.Fatalf("it does not tell of %s, which it had", task)
	}
	for w.sent < records-chunk {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.rest(t)
	}
	if n, _ := lag(); n <= before {
		t.Errorf("it tells that %d records are missing, as before", n)
	}
	works := func(minutes int) {
		for range 2 * minutes {
			w.advance(30 * time.Second)
			for _, p := range w.procs {
				p.step()
			}
		}
	}
	works(50)
	w.advance(3 * time.Hour) // suspended, with all others
	works(1)
	if had.disk.rowsOf(t, task) == 0 {
		t.Fatalf("state of %s was dropped within the hour", task)
	}
	works(10)
	if n := had.disk.rowsOf(t, task); n > 0 {
		t.Errorf("%d rows of %s are left after an hour", n, task)
	}
	if n, here := lag(); here {
		t.Errorf("it tells that all but %d records of what it has dropped are here", n)
	}
	for _, runs := range had.running() {
		if had.disk.rowsOf(t, runs) == 0 {
			t.Errorf("the state of %s, which it runs, is gone", runs)
		}
	}
	restored := had.counter("weir_restored_records_total")
	if err := has.stop(); err != nil {
		t.Fatal(err)
	}
	w.procs = []*process{had}
	w.rest(t)
	if n := had.counter("weir_restored_records_total") - restored; n == 0 {
		t.Error("what came back was not restored")
	}
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	w.stops(t)
	if err := w.judged(); err != nil {
		t.Error(err)
	}
}
