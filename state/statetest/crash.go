package statetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirstream/weir/state"
)

// Reopen checks that what was applied before Close is there after the next Open, synced or not.
func Reopen(t *testing.T, b state.Backend) {
	for name, settings := range settings() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := rows{}
			for i := range 4 {
				db := open(t, b, dir, settings)
				same(t, read(t, db, "", end), want)
				k := fmt.Sprint("k", i)
				put(t, db, k, "v", "again", k)
				want[k], want["again"] = "v", k
				closeDB(t, db)
			}
		})
	}
}

func settings() map[string]state.Settings {
	const memory = 16 << 20 // little: what is in memory shall reach the disk often
	return map[string]state.Settings{"unsynced": {MemoryBytes: memory}, "synced": {MemoryBytes: memory, Synced: true}}
}

// A Disk is a place where a backend keeps its state, and that can be copied as a crash would leave it.
type Disk interface {
	// Backend keeps its state on this disk and no other, under any directory.
	Backend() state.Backend
	// BeforeWrites calls f before each write from now on, from whichever goroutine writes.
	BeforeWrites(f func())
	// Crashed returns a disk as a crash at this moment may leave it: with everything that was synced, and of the rest a
	// part chosen by seed, which may be nothing or all of it.
	Crashed(seed uint64) Disk
}

// Crashes runs a program of batches and ingests and lets it crash before every write that the backend makes, several
// times with different parts of the unsynced writes. After each crash the database must open and hold, per range of keys
// that is written together, a state it had: not before the last that was durable, not beyond the last that was begun.
func Crashes(t *testing.T, newDisk func() Disk) {
	for name, settings := range settings() {
		t.Run(name, func(t *testing.T) {
			p := &program{t: t, settings: settings, disk: newDisk(), rnd: rand.New(rand.NewPCG(3, 4))}
			p.run()
			if p.crashes < 50 {
				t.Errorf("only %d crashes: does the disk report its writes?", p.crashes)
			}
			t.Logf("%d crashes", p.crashes)
		})
	}
}

// A program writes two ranges: "a" by batches alone, "m" by batches and ingests.
type program struct {
	t        *testing.T
	settings state.Settings
	disk     Disk
	rnd      *rand.Rand
	history  [2]history
	checking sync.Mutex // writes come from several goroutines
	crashes  int
}

// A history is what a range held, version by version.
type history struct {
	mu       sync.Mutex
	versions []rows // the last is perhaps only begun
	durable  atomic.Int64
}

var ranges = [2]struct{ from, to string }{{"a", "b"}, {"m", "n"}}

const dir = "state"

func (p *program) run() {
	for i := range p.history {
		p.history[i].versions = []rows{{}}
	}
	db := open(p.t, p.disk.Backend(), dir, p.settings)
	p.disk.BeforeWrites(p.crash)
	for step := range 60 {
		switch {
		case step%15 == 14:
			p.ingest(db)
		case step%15 == 7:
			p.ingestOver(db)
		default:
			p.apply(db, p.settings.Synced || step%10 == 9)
		}
	}
	closeDB(p.t, db)
	for i := range p.history {
		p.settled(i)
	}
	p.crash()
}

// begin adds a version that is made by change.
func (p *program) begin(r int, change func(rows)) {
	h := &p.history[r]
	h.mu.Lock()
	defer h.mu.Unlock()
	next := maps.Clone(h.versions[len(h.versions)-1])
	change(next)
	h.versions = append(h.versions, next)
}

// settled says that the last version is durable.
func (p *program) settled(r int) {
	h := &p.history[r]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.durable.Store(int64(len(h.versions) - 1))
}

func (p *program) apply(db state.DB, sync bool) {
	var b state.Batch
	for r := range ranges {
		p.begin(r, func(next rows) {
			if p.rnd.IntN(8) == 0 { // a rebuild: everything goes, a position comes
				b.DeleteRange([]byte(ranges[r].from), []byte(ranges[r].to))
				clear(next)
			}
			p.change(r, next, b.Put, b.Delete)
		})
	}
	apply(p.t, db, &b, sync)
	if sync {
		p.settled(0)
		p.settled(1)
	}
}

func (p *program) ingest(db state.DB) {
	in, ok := db.(state.Ingester)
	if !ok {
		return
	}
	r := ranges[1]
	n, v := p.rnd.IntN(200), fmt.Sprint(p.rnd.Uint64())
	p.begin(1, func(next rows) {
		clear(next)
		for k := range sorted(r.from, n, v) {
			next[string(k)] = v
		}
	})
	if err := in.Ingest(p.t.Context(), []byte(r.from), []byte(r.to), sorted(r.from, n, v)); err != nil {
		p.t.Error("Ingest:", err)
	}
	p.settled(1)
}

// ingestOver puts a run of rows over what is there, as a restore of a changelog's tail does.
func (p *program) ingestOver(db state.DB) {
	in, ok := db.(state.Ingester)
	if !ok {
		return
	}
	var run state.Run
	p.begin(1, func(next rows) { p.change(1, next, run.Put, run.Delete) })
	if err := in.Ingest(p.t.Context(), nil, nil, run.Sorted()); err != nil {
		p.t.Error("Ingest:", err)
	}
	p.settled(1)
}

// change writes some rows of a range, and always its position, which is the first of its keys.
func (p *program) change(r int, next rows, put func(k, v []byte), del func(k []byte)) {
	write := func(k, v string) {
		put([]byte(k), []byte(v))
		next[k] = v
	}
	write(ranges[r].from, fmt.Sprint(p.rnd.Uint64()))
	for range 1 + p.rnd.IntN(30) {
		k := fmt.Sprint(ranges[r].from, p.rnd.IntN(40))
		if p.rnd.IntN(4) == 0 {
			del([]byte(k))
			delete(next, k)
			continue
		}
		write(k, fmt.Sprintf("%0*d", 1+p.rnd.IntN(100), p.rnd.Uint32()))
	}
}

// crash opens what a crash now would leave. It runs while the program waits in its write.
func (p *program) crash() {
	p.checking.Lock()
	defer p.checking.Unlock()
	var durable [2]int64
	for r := range ranges {
		durable[r] = p.history[r].durable.Load() // before the copy, which may have more
	}
	for seed := range uint64(3) {
		p.crashes++
		left := p.disk.Crashed(seed)
		db, err := state.Open(p.t.Context(), left.Backend(), dir, p.settings)
		if err != nil {
			p.t.Errorf("crash %d: Open: %v", p.crashes, err)
			continue
		}
		for r := range ranges {
			p.check(db, r, durable[r])
		}
		if err := db.Close(); err != nil {
			p.t.Errorf("crash %d: Close: %v", p.crashes, err)
		}
	}
}

func (p *program) check(db state.DB, r int, durable int64) {
	got := rows{}
	err := db.Scan([]byte(ranges[r].from), []byte(ranges[r].to), func(k, v []byte) bool { got[string(k)] = string(v); return true })
	if err != nil {
		p.t.Errorf("crash %d: Scan: %v", p.crashes, err)
	}
	h := &p.history[r]
	h.mu.Lock()
	versions := h.versions
	h.mu.Unlock()
	for _, v := range versions[durable:] {
		if maps.Equal(v, got) {
			return
		}
	}
	for i, v := range versions[:durable] {
		if maps.Equal(v, got) {
			p.t.Errorf("crash %d: range %q is at version %d, version %d was durable", p.crashes, ranges[r].from, i, durable)
			return
		}
	}
	p.t.Errorf("crash %d: range %q has %d rows that it never had together", p.crashes, ranges[r].from, len(got))
}
