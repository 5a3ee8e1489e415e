package task

// A retry is a record that waits at the head of its input for something outside.
type retry struct {
	err   error
	until int64 // by the wall clock, in ms
	pause int64
}

// The pauses between tries, in ms: each twice as long as the one before.
const (
	firstPause = 100
	lastPause  = 5000
)

// again notes that the record could not be processed now.
func (r *retry) again(now int64, err error) {
	r.pause = min(max(2*r.pause, firstPause), lastPause)
	r.err, r.until = err, now+r.pause
}

func (r *retry) waits(now int64) bool { return r.err != nil && now < r.until }

// due is when the record is tried again; MaxTime when none waits.
func (r *retry) due(now int64) int64 {
	if !r.waits(now) {
		return MaxTime
	}
	return r.until
}

// again puts the record at hand off.
func (t *Task) again(err error) {
	t.retry.again(t.now, err)
	t.clockDue = min(t.clockDue, t.retry.until)
}

// Retrying is what the record at the head of an input waits for; nil when none waits.
func (t *Task) Retrying() error { return t.retry.err }

// Pause waits before a call is repeated in place for the n-th time, because the record has had effects already. It reports false when that
// cannot be done, or was done for long enough.
func (t *Task) Pause(n int) bool {
	return t.Wait != nil && t.Wait(min(int64(firstPause)<<min(n, 10), lastPause))
}
