package engine

import "time"

// gaugeEvery is how often gauges are set.
const gaugeEvery = time.Second

// What is measured of each checkpoint: histograms where there are any, else gauges of the longest.
const (
	checkpointSeconds = "weir_checkpoint_seconds" // from the barrier to the commit
	stallSeconds      = "weir_task_stall_seconds" // from the barrier's arrival at a task to the moment it takes input again
)

// gauges tell the outside how far the app is. They are set by the session's loop.
type gauges struct {
	last time.Time
	took time.Duration // the longest checkpoint since they were set
	dist func(float64) // the histogram of checkpoints
	set  map[string]func(float64)
}

// publishGauges sets the gauges when it is time: per task how many records are behind it, how many it has processed and the longest that a
// checkpoint has kept it from its input since the last time; the last committed checkpoint and the longest since the last time; how many
// records standbys and restores lack, and what the schema registry counts.
func (s *session) publishGauges(now time.Time) {
	g := &s.gauges
	if s.config.Gauge == nil || now.Sub(g.last) < gaugeEvery {
		return
	}
	g.last = now
	st := s.status()
	g.to(s.config, "weir_checkpoint", float64(st.Checkpoint))
	for _, t := range st.Tasks {
		g.to(s.config, "weir_task_lag", float64(t.Lag), "task", t.Task)
		g.to(s.config, "weir_task_processed", float64(t.Processed), "task", t.Task)
		if t.Outbox > 0 || s.carries() {
			g.to(s.config, "weir_task_outbox", float64(t.Outbox), "task", t.Task)
		}
	}
	for _, f := range st.Standbys {
		if f.Lag >= 0 {
			g.to(s.config, "weir_standby_lag", float64(f.Lag), "task", f.Task)
		}
	}
	for _, r := range s.app.restores.all() {
		g.to(s.config, "weir_restore_left_records", float64(r.Total-r.Done), "task", r.Task)
	}
	if s.config.Histogram == nil {
		g.to(s.config, checkpointSeconds, g.took.Seconds())
		g.took = 0
		for _, r := range s.runners {
			g.to(s.config, stallSeconds, time.Duration(r.stall.Swap(0)).Seconds(), "task", r.name)
		}
	}
	if s.config.Measures != nil {
		for name, n := range s.config.Measures() {
			g.to(s.config, name, float64(n))
		}
	}
}

// to sets one gauge.
func (g *gauges) to(c *Config, name string, value float64, labels ...string) {
	key := name
	for _, l := range labels {
		key += "," + l
	}
	set := g.set[key]
	if set == nil {
		if g.set == nil {
			g.set = map[string]func(float64){}
		}
		set = c.Gauge(name, labels...)
		g.set[key] = set
	}
	set(value)
}

// checkpointTook notes how long a checkpoint took. It is called by the session's loop.
func (s *session) checkpointTook(d time.Duration) {
	g := &s.gauges
	if s.config.Histogram == nil {
		g.took = max(g.took, d)
		return
	}
	if g.dist == nil {
		g.dist = s.config.Histogram(checkpointSeconds)
	}
	g.dist(d.Seconds())
}

// stalled notes how long a checkpoint kept a task from its input. It is called by the worker that has the task's turn.
func (r *runner) stalled(d time.Duration) {
	h := r.s.config.Histogram
	if h == nil {
		r.stall.Store(max(r.stall.Load(), int64(d)))
		return
	}
	if r.stalls == nil {
		r.stalls = h(stallSeconds, "task", r.name)
	}
	r.stalls(d.Seconds())
}
