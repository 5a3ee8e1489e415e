package engine

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A Restore is stream.Restore.
type Restore struct {
	Task        string
	Done, Total int64
	Left        time.Duration
	Ended       bool
	Err         error
}

// restores are the tasks whose state is being restored. They belong to the app, which has no session yet while the first ones are.
type restores struct {
	mu    sync.Mutex
	tasks map[string]*progress
}

// A progress is how far one is. Its goroutine is the one that restores.
type progress struct {
	of    *restores
	tell  func(Restore) // nil: nobody listens
	began int64         // in ms
	told  int64
	what  Restore // guarded by of.mu
}

// tellEvery is how often a listener hears of progress, in ms.
const tellEvery = 1000

// begin shows that a task's state lacks records. With nothing to restore it shows nothing.
func (r *restores) begin(task string, total, now int64, tell func(Restore)) *progress {
	p := &progress{of: r, tell: tell, began: now, told: now, what: Restore{Task: task, Total: total}}
	if total <= 0 {
		return p
	}
	r.mu.Lock()
	if r.tasks == nil {
		r.tasks = map[string]*progress{}
	}
	r.tasks[task] = p
	r.mu.Unlock()
	p.say(p.what)
	return p
}

func (p *progress) say(what Restore) {
	if p.tell != nil && what.Total > 0 {
		p.tell(what)
	}
}

// add notes that n more are restored. What is left is estimated by what it took so far.
func (p *progress) add(n, now int64) {
	p.of.mu.Lock()
	p.what.Done = min(p.what.Total, p.what.Done+n)
	if p.what.Done > 0 {
		spent := time.Duration(now-p.began) * time.Millisecond
		p.what.Left = time.Duration(float64(spent) / float64(p.what.Done) * float64(p.what.Total-p.what.Done))
	}
	what := p.what
	p.of.mu.Unlock()
	if now-p.told >= tellEvery {
		p.told = now
		p.say(what)
	}
}

// end takes it off the list.
func (p *progress) end(err error) {
	p.of.mu.Lock()
	if p.of.tasks[p.what.Task] == p {
		delete(p.of.tasks, p.what.Task)
	}
	p.what.Ended, p.what.Err, p.what.Left = true, err, 0
	if err == nil {
		p.what.Done = p.what.Total
	}
	what := p.what
	p.of.mu.Unlock()
	p.say(what)
}

// all are those under way, in the order of their names.
func (r *restores) all() (all []Restore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.tasks {
		all = append(all, p.what)
	}
	slices.SortFunc(all, func(a, b Restore) int { return strings.Compare(a.Task, b.Task) })
	return all
}

// show adds them to a status.
func (r *restores) show(st *Status) {
	for _, p := range r.all() {
		st.Tasks = append(st.Tasks, TaskStatus{Task: p.Task, State: "restoring", Watermark: NoTime, Lag: p.Total - p.Done,
			Restored: float64(p.Done) / float64(p.Total), RestoreLeft: p.Left})
	}
	if st.State == "starting" && len(st.Tasks) > 0 {
		st.State = "restoring"
	}
}

// A StandbyStatus is stream.StandbyStatus.
type StandbyStatus struct {
	Task   string
	Lag    int64 // -1: not known yet
	Coming bool
	Err    error
}

// status shows the copies that are kept here.
func (b *standbys) status() (all []StandbyStatus) {
	for _, f := range b.following() {
		st := StandbyStatus{Task: f.ref.name(), Lag: -1, Coming: f.coming.Load()}
		lag, known, err := f.state()
		if known {
			st.Lag = lag
		}
		st.Err = err
		all = append(all, st)
	}
	return all
}
