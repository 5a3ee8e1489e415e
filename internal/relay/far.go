package relay

import (
	"context"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A Far is another cluster as one process sees it: connected when it is first needed. Its methods may be called at once.
type Far struct {
	connect func(ctx context.Context) (wire.Log, error)
	line    chan struct{} // holds one token: who has it may connect
	log     wire.Log
	lent    bool
	down    error     // why the last request of a sink got no answer
	until   time.Time // not asked again by sinks before
}

// NewFar is the cluster that connect leads to.
func NewFar(connect func(ctx context.Context) (wire.Log, error)) *Far {
	return &Far{connect: connect, line: make(chan struct{}, 1)}
}

// LentFar is one that somebody else has connected, and closes.
func LentFar(log wire.Log) *Far { return &Far{line: make(chan struct{}, 1), log: log, lent: true} }

// Log is the connection.
func (f *Far) Log(ctx context.Context) (wire.Log, error) {
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	defer f.exit()
	return f.connected(ctx)
}

// enter waits until nobody else connects or asks; exit ends that.
func (f *Far) enter(ctx context.Context) error {
	select {
	case f.line <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *Far) exit() { <-f.line }

// connected is the connection, which is made when there is none yet. The caller has entered.
func (f *Far) connected(ctx context.Context) (wire.Log, error) {
	if f.log != nil {
		return f.log, nil
	}
	log, err := f.connect(ctx)
	if err != nil {
		return nil, err
	}
	f.log = log
	return log, nil
}

// Tasks are made and records routed while others wait: a cluster that is down is not waited for for long, and then not for a while.
const (
	askWithin  = 5 * time.Second
	downAtOnce = 30 * time.Second
)

// topics describes topics for a sink, which knows them already or does not.
func (f *Far) topics(ctx context.Context, known bool, names ...string) (found map[string]wire.Topic, err error) {
	err = f.ask(ctx, known, func(ctx context.Context, l wire.Log) (err error) {
		found, err = l.Topics(ctx, names...)
		return err
	})
	return found, err
}

// ask makes a request. An optional one is not made while the cluster is down.
func (f *Far) ask(ctx context.Context, optional bool, what func(ctx context.Context, l wire.Log) error) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if err := f.enter(ctx); err != nil {
		return err
	}
	defer f.exit()
	if optional && f.down != nil && time.Now().Before(f.until) {
		return f.down
	}
	f.down = f.try(ctx, what)
	f.until = time.Now().Add(downAtOnce)
	return f.down
}

func (f *Far) try(ctx context.Context, what func(ctx context.Context, l wire.Log) error) error {
	log, err := f.connected(ctx)
	if err != nil {
		return err
	}
	return what(ctx, log)
}

// Close ends the connection.
func (f *Far) Close() error {
	if f.log == nil || f.lent {
		return nil
	}
	return f.log.Close()
}

// SinkLog is what a sink sees of the far cluster behind an outbox: topics and the clock, and nothing else.
func (o *Outbox) SinkLog(near wire.Log) wire.Log { return &sinkLog{Log: near, o: o} }

// A sinkLog is the near cluster but for what a sink asks of topics.
type sinkLog struct {
	wire.Log
	o *Outbox
}

// Topics is described at wire.Admin.
func (l *sinkLog) Topics(ctx context.Context, names ...string) (map[string]wire.Topic, error) {
	out := map[string]wire.Topic{}
	for _, name := range names {
		if t := l.o.knows(name); t != nil {
			out[name] = *t
		}
	}
	all := len(out) == len(names)
	found, err := l.o.far.topics(ctx, all, names...)
	if err != nil && all {
		return out, nil
	}
	return found, err
}

// Create is described at wire.Admin.
func (l *sinkLog) Create(ctx context.Context, specs ...wire.TopicSpec) error {
	return l.o.far.ask(ctx, false, func(ctx context.Context, l wire.Log) error { return l.Create(ctx, specs...) })
}
