package engine

import (
	"errors"
	"testing"
	"time"
)

// TestProgressEstimates: what is left takes as long as what was done did, and a listener hears of it once a second.
func TestProgressEstimates(t *testing.T) {
	var r restores
	var told []Restore
	p := r.begin("t/0", 1000, 0, func(what Restore) { told = append(told, what) })
	for i := range int64(25) {
		p.add(10, (i+1)*100) // 100 records a second
	}
	st := Status{State: "starting"}
	r.show(&st)
	if len(st.Tasks) != 1 || st.State != "restoring" {
		t.Fatalf("%+v", st)
	}
	if got := st.Tasks[0]; got.Restored != 0.25 || got.RestoreLeft != 7500*time.Millisecond || got.Lag != 750 || got.State != "restoring" {
		t.Errorf("%+v", got)
	}
	cause := errors.New("gone")
	p.end(cause)
	if len(told) != 4 || told[3].Err != cause || !told[3].Ended || told[2].Done != 200 {
		t.Errorf("told %+v", told)
	}
	if len(r.all()) != 0 {
		t.Error("it is still there")
	}
	r.begin("t/1", 0, 0, func(Restore) { t.Error("nothing is to be restored") }).end(nil)
}
