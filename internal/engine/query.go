package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// The errors of queries; package table gives them the names that users compare with.
var (
	ErrNotRunning = errors.New("the app does not run")
	ErrRestoring  = errors.New("the state is being restored")
)

// An ElsewhereError says that another process has the task that was asked for. Address is "" when it does not say where it is reached.
type ElsewhereError struct{ Address string }

func (e *ElsewhereError) Error() string { return "the task is in another process: " + e.Address }

// A gate is what queries go through. The database is not closed while one that reads it is inside.
type gate struct {
	sync.RWMutex
	s *session // nil while there is none
}

// open lets queries ask the tasks of a session; shut(nil) has them wait for the next one, or for ever.
func (g *gate) open(s *session) {
	g.Lock()
	defer g.Unlock()
	g.s = s
}

// shut says why there is nobody to ask.
func (a *App) shut() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.mu.state {
	case "new", "stopped", "failed":
		return ErrNotRunning
	}
	return ErrRestoring
}

// Look calls do with what a task was made with, in the caller's goroutine: it reads the database, as the last checkpoint has left it.
func (a *App) Look(sub *Sub, partition int, do func(env *TaskEnv) error) error {
	a.gate.RLock()
	defer a.gate.RUnlock()
	r, err := a.runnerOf(sub, partition)
	if err != nil {
		return err
	}
	return do(r.env)
}

// LookStale is Look that takes a copy of another process's state where the task is not here.
func (a *App) LookStale(sub *Sub, partition int, do func(env *TaskEnv) error) error {
	a.gate.RLock()
	defer a.gate.RUnlock()
	r, err := a.runnerOf(sub, partition)
	if err == nil {
		return do(r.env)
	}
	if s := a.gate.s; s != nil {
		if t, ok := s.standbys.copyOf(sub, partition); ok {
			return do(s.envOf(s.ctx, t))
		}
	}
	return err
}

// Copies are the partitions of a sub-topology whose state is here as a copy that can be read.
func (a *App) Copies(sub *Sub) (partitions []int) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	if a.gate.s == nil {
		return nil
	}
	for _, f := range a.gate.s.standbys.following() {
		if f.ref.sub == sub && f.readable() {
			partitions = append(partitions, f.ref.partition)
		}
	}
	return partitions
}

// Ask calls do in the goroutine of a task, between two records. do must not panic, and shares nothing with a caller whose context
// has ended. In a driver without goroutines it is called at once.
func (a *App) Ask(ctx context.Context, sub *Sub, partition int, do func(env *TaskEnv)) error {
	a.gate.RLock()
	r, err := a.runnerOf(sub, partition)
	a.gate.RUnlock()
	if err != nil {
		return err
	}
	if !r.s.threaded {
		do(r.env)
		return nil
	}
	done := make(chan struct{})
	r.send(message{kind: aCall, do: func() {
		defer close(done)
		do(r.env)
	}})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.env.Context.Done():
		return ErrRestoring // the task has ended, and begins anew somewhere
	}
}

// Address is where other processes reach the queries of this one.
func (a *App) Address() string { return a.config.Advertise }

// Loaded reports whether global tables are there.
func (a *App) Loaded() error {
	a.gate.RLock()
	defer a.gate.RUnlock()
	if a.gate.s == nil {
		return a.shut()
	}
	return nil
}

// Partitions is how many tasks a sub-topology has, and which of them are here.
func (a *App) Partitions(sub *Sub) (n int, here []int, err error) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	s := a.gate.s
	if s == nil {
		return 0, nil, a.shut()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runners {
		if r.sub == sub {
			here = append(here, r.ref.partition)
		}
	}
	slices.Sort(here)
	return s.counts[sub], here, nil
}

// Where is the address of the process that has a task; its own when the task is here, or on its way here.
func (a *App) Where(sub *Sub, partition int) (address string, err error) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	_, err = a.runnerOf(sub, partition)
	elsewhere := &ElsewhereError{}
	switch {
	case errors.As(err, &elsewhere):
		return elsewhere.Address, nil
	case err != nil && a.gate.s == nil:
		return "", err
	}
	return a.config.Advertise, nil
}

// runnerOf finds a task. The gate is held.
func (a *App) runnerOf(sub *Sub, partition int) (*runner, error) {
	s := a.gate.s
	if s == nil {
		return nil, a.shut()
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.runners, func(r *runner) bool { return r.sub == sub && r.ref.partition == partition })
	if i >= 0 {
		defer s.mu.Unlock()
		return s.runners[i], nil
	}
	s.mu.Unlock()
	if s.base.seat == nil {
		return nil, ErrRestoring
	}
	address, mine := s.base.seat.holder(s.refs, sub, partition)
	if mine {
		return nil, ErrRestoring
	}
	return nil, &ElsewhereError{address}
}

// holder is who has a task by the last assignment.
func (s *seat) holder(refs []taskRef, sub *Sub, partition int) (address string, mine bool) {
	s.mu.Lock()
	a := s.mu.assigned
	s.mu.Unlock()
	if a == nil {
		return "", false
	}
	name := taskRef{sub: sub, partition: partition}.name()
	if slices.ContainsFunc(ownedBy(refs, a), func(t taskRef) bool { return t.name() == name }) {
		return "", true
	}
	for address, tasks := range decodeMember(a.UserData).Where {
		if slices.Contains(tasks, name) {
			return address, false
		}
	}
	return "", false
}
