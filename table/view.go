package table

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// A Read says how fresh an answer must be.
type Read int

// Committed (the default) answers from the last checkpoint: what readers of the output can know.
// Live asks the task, and sees what may yet be rolled back; it waits for the record that the task is at.
// Stale also reads the copy that a standby keeps (stream.Config.Standbys), which is about a second behind; it does not ask a process
// that is restoring for its own tasks.
const (
	Committed Read = iota
	Live
	Stale
)

// A Source is what a View asks. It is implemented by package stream; from and to nil are no bounds.
type Source[K, V any] interface {
	Name() string
	Get(ctx context.Context, k K, how Read) (row Row[K, V], ok bool, err error)
	Scan(ctx context.Context, from, to *K, how Read) iter.Seq2[Row[K, V], error]
	Locate(k K) (address string, err error)
}

// A View answers queries about the part of a table that this process holds. It may be used by many goroutines.
type View[K, V any] struct {
	source Source[K, V]
	fresh  Read
	client http.Client
}

// ViewOf makes a view; fresh is how it reads unless it is told. For the engine.
func ViewOf[K, V any](s Source[K, V], fresh Read) *View[K, V] {
	return &View[K, V]{source: s, fresh: fresh, client: http.Client{
		Timeout:       forwardTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// forwardTimeout bounds how long the owner of a key may take for its answer.
const forwardTimeout = 10 * time.Second

func (v *View[K, V]) how(how []Read) Read {
	if len(how) > 0 {
		return how[0]
	}
	return v.fresh
}

// Get returns the value of k, which is the caller's. Errors: *NotLocalError, ErrRestoring, ErrNotRunning, that of ctx.
func (v *View[K, V]) Get(ctx context.Context, k K, how ...Read) (value V, ok bool, err error) {
	row, ok, err := v.source.Get(ctx, k, v.how(how))
	return row.Value, ok, err
}

// Range iterates over the local rows in [from, to), in key order. It needs an ordered key serde. Of a table of windows it takes those of
// one key, by their starts. After an error the iteration ends.
//
// Rows are fetched in pages: one that changes meanwhile is seen as it was or as it is.
func (v *View[K, V]) Range(ctx context.Context, from, to K, how ...Read) iter.Seq2[Row[K, V], error] {
	return v.source.Scan(ctx, &from, &to, v.how(how))
}

// All iterates over every local row, partition by partition, as Range does.
func (v *View[K, V]) All(ctx context.Context, how ...Read) iter.Seq2[Row[K, V], error] {
	return v.source.Scan(ctx, nil, nil, v.how(how))
}

// Locate returns the address (Config.Advertise) of the process that holds k: "" when that has none.
func (v *View[K, V]) Locate(k K) (address string, err error) { return v.source.Locate(k) }
