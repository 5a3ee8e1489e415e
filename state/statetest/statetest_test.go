package statetest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/weirstream/weir/state"
)

// brokenEnv names the backend that the test binary checks when it runs as a process of its own, to fail.
const brokenEnv = "STATETEST_BROKEN"

// A broken is a backend with one mistake, and the checks that must notice it.
type broken struct {
	fails   string // a check that must fail
	mistake func(state.DB) state.DB
}

var mistakes = map[string]broken{
	"none":                    {"", func(db state.DB) state.DB { return db }},
	"empty value is deletion": {"empty_values", func(db state.DB) state.DB { return dropEmpty{db} }},
	"ranges after ops":        {"order_in_a_batch", func(db state.DB) state.DB { return rangesLast{db} }},
	"row by row":              {"atomic", func(db state.DB) state.DB { return rowByRow{db} }},
	"errors swallowed":        {"errors_of_use", func(db state.DB) state.DB { return swallow{db} }},
	"to included":             {"random", func(db state.DB) state.DB { return inclusive{db} }},
	"ingest merges":           {"ingest/", func(db state.DB) state.DB { return merging{db, db.(state.Ingester)} }},
	"ingest ends early":       {"ingest_cancelled", func(db state.DB) state.DB { return deaf{db, db.(state.Ingester)} }},
}

type backend struct{ mistake func(state.DB) state.DB }

func (b backend) Open(ctx context.Context, dir string) (state.DB, error) {
	db, err := state.InMemory().Open(ctx, dir)
	return b.mistake(db), err
}

// TestBroken is run by TestRunNotices.
func TestBroken(t *testing.T) {
	b, ok := mistakes[os.Getenv(brokenEnv)]
	if !ok {
		b = mistakes["none"] // run by hand or with everything else, it must pass
	}
	Run(t, backend{b.mistake})
}

// TestRunNotices runs the kit on backends with one mistake each.
func TestRunNotices(t *testing.T) {
	for name, b := range mistakes {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$", "-test.v")
			cmd.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if b.fails == "" {
				if err != nil {
					t.Errorf("a sound backend fails: %s", out)
				}
				return
			}
			if err == nil || !regexp.MustCompile(`--- FAIL: TestBroken/`+b.fails).Match(out) {
				t.Errorf("%v; nothing noticed it:\n%s", err, out)
			}
		})
	}
}

func copyBatch(b *state.Batch, keep func(k, v []byte) bool) *state.Batch {
	var c state.Batch
	for k, v := range b.Ops() {
		switch {
		case !keep(k, v):
		case v == nil:
			c.Delete(k)
		default:
			c.Put(k, v)
		}
	}
	return &c
}

type dropEmpty struct{ state.DB }

func (d dropEmpty) Apply(b *state.Batch, sync bool) error {
	return d.DB.Apply(copyBatch(b, func(_, v []byte) bool { return v == nil || len(v) > 0 }), sync)
}

type rangesLast struct{ state.DB }

func (d rangesLast) Apply(b *state.Batch, sync bool) error {
	var ranges state.Batch
	for from, to := range b.DeletedRanges() {
		ranges.DeleteRange(from, to)
	}
	err := d.DB.Apply(copyBatch(b, func(_, _ []byte) bool { return true }), sync)
	return errors.Join(err, d.DB.Apply(&ranges, sync))
}

type rowByRow struct{ state.DB }

func (d rowByRow) Apply(b *state.Batch, sync bool) error {
	for k := range b.Ops() {
		if err := d.DB.Apply(copyBatch(b, func(o, _ []byte) bool { return bytes.Equal(o, k) }), sync); err != nil {
			return err
		}
	}
	return nil
}

type swallow struct{ state.DB }

func (d swallow) Get(k []byte, use func([]byte) error) (bool, error) {
	return d.DB.Get(k, func(v []byte) error { _ = use(v); return nil })
}

type inclusive struct{ state.DB }

func (d inclusive) Scan(from, to []byte, use func(k, v []byte) bool) error {
	return d.DB.Scan(from, append(slices.Clip(to), 0), use)
}

type merging struct {
	state.DB
	in state.Ingester
}

func (d merging) Ingest(_ context.Context, _, _ []byte, rows iter.Seq2[[]byte, []byte]) error {
	var b state.Batch
	for k, v := range rows {
		b.Put(k, v)
	}
	return d.Apply(&b, true)
}

type deaf struct {
	state.DB
	in state.Ingester
}

func (d deaf) Ingest(_ context.Context, from, to []byte, rows iter.Seq2[[]byte, []byte]) error {
	return d.in.Ingest(context.Background(), from, to, rows)
}

// A versions is a disk in memory that keeps every version, and says which are durable.
type versions struct {
	lazy    bool // a mistake: synced batches are not durable
	torn    bool // a mistake: half of a batch may be durable
	mu      sync.Mutex
	all     []rows
	durable int
	before  func()
}

func (v *versions) Backend() state.Backend { return v }

func (v *versions) BeforeWrites(f func()) { v.before = f }

func (v *versions) Crashed(seed uint64) Disk {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.durable + int(seed)%(len(v.all)-v.durable)
	return &versions{all: []rows{v.all[at]}}
}

func (v *versions) Open(ctx context.Context, dir string) (state.DB, error) {
	db, err := state.InMemory().Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.all) == 0 {
		v.all = []rows{{}}
	}
	var b state.Batch
	for k, val := range v.all[len(v.all)-1] {
		b.Put([]byte(k), []byte(val))
	}
	return &versioned{db, v}, db.Apply(&b, true)
}

type versioned struct {
	state.DB
	disk *versions
}

func (d *versioned) Apply(b *state.Batch, sync bool) error {
	if d.disk.torn {
		half := 0
		first := copyBatch(b, func(_, _ []byte) bool { half++; return half%2 == 0 })
		if err := d.DB.Apply(first, sync); err != nil {
			return err
		}
		d.note(false)
	}
	if err := d.DB.Apply(b, sync); err != nil {
		return err
	}
	d.note(sync && !d.disk.lazy)
	return nil
}

// note makes the rows as they are a version.
func (d *versioned) note(durable bool) {
	now := rows{}
	_ = d.Scan(nil, []byte(end), func(k, v []byte) bool { now[string(k)] = string(v); return true })
	v := d.disk
	if v.before != nil {
		v.before()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, now)
	if durable {
		v.durable = len(v.all) - 1
	}
}

func (d *versioned) Close() error {
	d.note(true)
	return d.DB.Close()
}

// TestBrokenDisk is run by TestCrashesNotices.
func TestBrokenDisk(t *testing.T) {
	name := os.Getenv(brokenEnv)
	Crashes(t, func() Disk { return &versions{lazy: name == "lazy", torn: name == "torn"} })
}

func TestCrashesNotices(t *testing.T) {
	for name, want := range map[string]string{"lazy": "was durable", "torn": "never had together"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenDisk$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte(want)) {
				t.Errorf("%v; want %q in:\n%.2000s", err, want, out)
			}
		})
	}
}
