package engine

import "time"

// gaugeEvery is how often gauges are set.
const gaugeEvery = time.Second

// gauges tell the outside how far the app is. They are set by the session's loop.
type gauges struct {
	last time.Time
	set  map[string]func(float64)
}

// publish sets the gauges when it is time: per task how many records are behind it and how many it has processed, the last committed
// checkpoint, how many records its standbys and restores lack, and what the schema registry counts.
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
