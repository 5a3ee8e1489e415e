package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A clusterLog is a wire.Log: an app's open connection to one Kafka.
//
// What belongs to whom: reads owns the connections that fetch, each writer those that it produces on and its transaction
// coordinators', each membership its group client. Everything else is a request now and then, and borrows a connection of the pool.
type clusterLog struct {
	*dialer
	app   string
	dir   *directory
	pool  *pool
	reads *reads

	closing sync.Once
	mu      struct {
		sync.Mutex
		coordinators map[string]string        // of groups; "" is not known
		unanswered   map[string]wire.Identity // who sent the last plain commit that got no answer, by group
	}
}

func newLog(d *dialer, dir *directory, app string) *clusterLog {
	l := &clusterLog{dialer: d, app: app, dir: dir, pool: &pool{dialer: d}, reads: newReads(d, dir)}
	l.mu.coordinators, l.mu.unanswered = make(map[string]string), make(map[string]wire.Identity)
	return l
}

// Read is described at wire.Log.
func (l *clusterLog) Read(ctx context.Context, at wire.TopicPartition, from int64, how wire.ReadOptions) (wire.Reader, error) {
	c, err := l.reads.open(ctx, at, from, how)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Now is the wall clock.
func (l *clusterLog) Now() time.Time { return time.Now() }

// ClusterID is the cluster's own.
func (l *clusterLog) ClusterID() string { return l.dir.clusterID() }

// Close is described at wire.Log.
func (l *clusterLog) Close() error {
	l.closing.Do(func() {
		l.reads.close()
		l.pool.close()
		l.dir.close()
	})
	return nil
}
