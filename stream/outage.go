package stream

import (
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
)

// folding runs the functions that a node folds with. They may have changed accumulators in place when they fail: putBack then makes those what
// they were, and reports whether it could.
//
// A record whose call in an outage left nothing behind has had no effect here. So it goes back to the head of its input, or, when it has had
// effects further up, the call is repeated in place for a while: f asks for its entries anew each time. What could not be put back, a value
// that was not copied and that only memory has, is undone with all since the last commit.
func folding(c *task.Context, n *task.Node, reject rejection, guarded bool, putBack func() bool, f func()) (ok bool) {
	return attempt(c, n, reject, guarded, func() error { return unharmed(c, n, putBack, f) })
}

// unharmed calls f, and returns an outage as an error.
func unharmed(c *task.Context, n *task.Node, putBack func() bool, f func()) (err error) {
	effects, done := c.Effects, false
	defer func() {
		if done {
			return
		}
		p := recover()
		if p == nil {
			return // the goroutine ends
		}
		switch p.(type) {
		case task.Failure, task.Retry, *overlay.Fault: // the task's end, and of its state
			panic(p)
		}
		if putBack() {
			c.Effects = effects
		}
		if r, given := p.(rejected); given && c.Fault == n && isOutage(r.err) {
			err = r.err
			return
		}
		panic(p)
	}()
	f()
	done = true
	return nil
}
