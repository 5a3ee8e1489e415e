package crashtest

import (
	"context"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/state"
)

// slow is a backend whose writes have fates. One with Pass takes that long; one with After is held until every other process has taken a
// step, with whatever that step does to the group, and is then done.
type slow struct {
	state.Backend
	p *process
}

// Open opens what the backend has.
func (s slow) Open(ctx context.Context, dir string) (state.DB, error) {
	db, err := s.Backend.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &slowDB{db, s.p}, nil
}

type slowDB struct {
	state.DB
	p *process
}

// Apply asks the judge first.
func (db *slowDB) Apply(b *state.Batch, sync bool) error {
	f := db.p.write()
	switch {
	case f.Kill:
		_ = db.p.conn.Close()
		return faults.ErrKilled
	case f.Refuse != nil:
		return f.Refuse
	}
	err := db.DB.Apply(b, sync)
	if f.KillDone {
		_ = db.p.conn.Close()
		return faults.ErrKilled
	}
	return err
}

// write is the fate of a process's write, and has what a slow one takes come to pass.
func (p *process) write() (f faults.Fate) {
	q := faults.Request{Kind: faults.Write, Client: p.name, Time: p.w.c.Now()}
	if j, ok := p.w.c.Judge.(faults.Witness); ok {
		j.Witness(q)
	}
	if p.w.c.Judge != nil {
		f = p.w.c.Judge.Judge(q)
	}
	if f.Pass > 0 || f.After > 0 {
		p.w.held++
	}
	if f.Pass > 0 {
		p.w.advance(f.Pass)
	}
	if f.After > 0 {
		p.w.others(p)
	}
	return f
}

// others has every process but one take a step, if it is not at one.
func (w *world) others(but *process) {
	for _, p := range w.procs {
		if p != but && !p.busy && p.step() {
			w.meanwhile++
		}
	}
}
