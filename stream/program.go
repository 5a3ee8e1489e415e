package stream

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// A program is a checked topology, bound to a configuration.
type program struct {
	config  *Config
	graph   *topology.Graph
	results map[*topology.Node]any
}

// A storeSpec is state that a node owns.
type storeSpec struct {
	name      string
	changelog bool
	// unlessFail: it is there only where the node's policy is not Fail
	unlessFail bool
	// topic: it is restored from what this source reads
	topic *topology.Node
}

// storesOf are the stores that a node has under a configuration.
func storesOf(n *topology.Node, c *Config) (out []storeSpec) {
	for _, st := range specOf(n).stores {
		if !st.unlessFail || !fails(n, c) {
			out = append(out, st)
		}
	}
	return out
}

// A Compiled is a topology bound to a configuration. For the engine: streamtest runs one under virtual time, after it has put
// its own ends in the place of sources and sinks that are not topics.
type Compiled struct {
	Plan   *engine.Plan
	Config *engine.Config
	prog   *program
}

// Compile checks the topology and the configuration together, as Build does. For the engine.
func (b *Builder) Compile(c Config) (*Compiled, error) {
	problems := []error{c.Validate(), b.check()}
	config := c.withDefaults()
	config.keepSchemas(b.name)
	p := &program{config: &config, graph: &b.graph, results: map[*topology.Node]any{}}
	stateful := false
	for _, n := range b.graph.Nodes {
		op := specOf(n)
		stateful = stateful || len(op.stores) > 0
		if op.bind == nil {
			continue
		}
		r, err := op.bind(&binding{app: b.name, node: n, config: &config})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", n.Line, n.Name, err))
		}
		p.results[n] = r
	}
	if stateful && config.State == nil {
		problems = append(problems, fmt.Errorf("config: State is not set, and the topology keeps state: use pebblestore.New(…) or state.InMemory()"))
	}
	if config.Standbys > 0 && config.Cluster == nil {
		problems = append(problems, fmt.Errorf("config: Standbys is %d, and Cluster is not set: there is no changelog and no other process to follow it", config.Standbys))
	}
	if config.Guarantee == AtMostOnce {
		if stateful {
			problems = append(problems, fmt.Errorf("config: AtMostOnce keeps no state, and the topology does: use AtLeastOnce or ExactlyOnce"))
		}
		if config.Cluster == nil {
			problems = append(problems, fmt.Errorf("config: AtMostOnce commits to a group before it processes, and Cluster is not set"))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	plan := p.plan(b.name)
	if c.Cluster == nil {
		for _, sub := range plan.Subs {
			for _, x := range sub.In {
				if x.Remote {
					return nil, fmt.Errorf("config: Cluster is not set, and repartition %s leads back to where it comes from: such a topology needs topics", x.Name)
				}
			}
		}
	}
	return &Compiled{Plan: plan, Config: config.engine(), prog: p}, nil
}

// keepSchemas gives a registry that keeps what it has fetched a place in the app's folder, before serdes ask it for anything.
func (c *Config) keepSchemas(app string) {
	if r, ok := c.Registry.(interface{ UseCacheDir(dir string) }); ok && c.StateDir != "" {
		r.UseCacheDir(filepath.Join(c.StateDir, app, "registry"))
	}
}

// plan is the engine's form of the program.
func (p *program) plan(app string) *engine.Plan {
	plan := &engine.Plan{App: app}
	subs := map[*topology.Sub]*engine.Sub{}
	for _, s := range p.graph.Subs {
		if n := s.Nodes[0]; n.Kind == kindGlobal {
			plan.Globals = append(plan.Globals, p.results[n].(*sourceSpec).engineGlobal(n))
			continue
		}
		es := &engine.Sub{Name: s.Name}
		subs[s] = es
		plan.Subs = append(plan.Subs, es)
	}
	for _, s := range p.graph.Subs {
		es := subs[s]
		if es == nil {
			continue
		}
		headers := false
		for _, n := range s.Nodes {
			headers = headers || specOf(n).headers
		}
		for i, n := range s.Ins() {
			op := specOf(n)
			if n.Kind == topology.Source {
				src := p.results[n].(*sourceSpec).engineSource(n, i)
				src.Headers = headers
				es.Sources = append(es.Sources, src)
				continue
			}
			x := &engine.Exchange{Name: op.exchange.name, Input: i, From: subs[n.Peer.Sub()], To: es, Partitions: op.exchange.partitions, Open: openExchange}
			x.From.Out = append(x.From.Out, x)
			es.In = append(es.In, x)
		}
		for _, n := range s.Nodes {
			if spec, ok := p.results[n].(*sinkSpec); ok && spec.outbox {
				es.Outboxes = append(es.Outboxes, n.Name)
			}
			for _, st := range storesOf(n, p.config) {
				es.Stores = append(es.Stores, p.store(n, st, es.Sources))
			}
		}
		sub := s
		es.New = func(env *engine.TaskEnv) (*task.Task, error) { return p.compile(sub, env) }
	}
	breakCircles(plan)
	return plan
}

// store is the engine's form of a store.
func (p *program) store(n *topology.Node, st storeSpec, sources []*engine.Source) engine.Store {
	s := engine.Store{Name: st.name, Changelog: st.changelog}
	if st.topic != nil {
		i := slices.IndexFunc(sources, func(src *engine.Source) bool { return src.Name == st.topic.Name })
		s.Source, s.Rows = sources[i], specOf(n).restored(p.results[n])
	}
	return s
}

// breakCircles has exchanges go through the cluster that would close a circle of local ones, as few as the order in which they were
// made allows.
func breakCircles(plan *engine.Plan) {
	next := map[*engine.Sub][]*engine.Sub{}
	var reaches func(from, to *engine.Sub) bool
	reaches = func(from, to *engine.Sub) bool {
		return from == to || slices.ContainsFunc(next[from], func(s *engine.Sub) bool { return reaches(s, to) })
	}
	for _, sub := range plan.Subs {
		for _, x := range sub.In {
			if x.Remote = reaches(x.To, x.From); !x.Remote {
				next[x.From] = append(next[x.From], x.To)
			}
		}
	}
}

// engine is the configuration without types.
func (c *Config) engine() *engine.Config {
	e := &engine.Config{
		Cluster: c.Cluster, State: c.State, StateDir: c.StateDir, Instance: c.Instance, Advertise: c.Advertise, Guarantee: engine.Guarantee(c.Guarantee),
		CheckpointInterval: c.CheckpointInterval, MaxTaskPause: c.MaxTaskPause, MaxPartitionCommits: c.MaxPartitionCommits, TransactionTimeout: c.TransactionTimeout,
		SessionTimeout: c.SessionTimeout, StopTimeout: c.StopTimeout, DropState: c.DropState, Workers: c.Workers, OutboxRecords: c.OutboxRecords, MemoryBytes: c.MemoryBytes,
		Rack: c.Rack, Standbys: c.Standbys, MoveLag: c.MoveLag, StandbyBytesPerSecond: c.StandbyBytesPerSecond, RestoreBytesPerSecond: c.RestoreBytesPerSecond,
		Local:  c.Exchange == Local || c.Cluster == nil,
		Logger: c.Logger,
	}
	if c.OnRestore != nil {
		e.OnRestore = func(r engine.Restore) { c.OnRestore(Restore(r)) }
	}
	if c.Metrics != nil {
		e.Counter, e.Gauge = c.Metrics.Counter, c.Metrics.Gauge
		if h, ok := c.Metrics.(Histograms); ok {
			e.Histogram = h.Histogram
		}
		if r, ok := c.Registry.(interface{ Measures() map[string]int64 }); ok {
			e.Measures = r.Measures
		}
	}
	return e
}
