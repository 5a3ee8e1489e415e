package engine

import (
	"errors"
	"testing"
)

// A query that is inside asks for the state while the gate waits for it: neither waits for ever.
func TestGateWaitsForQueriesWithoutTheState(t *testing.T) {
	a := &App{}
	a.mu.state = "running"
	for range 100 {
		a.gate.RLock() // a query is inside
		attached := make(chan struct{})
		go func() {
			defer close(attached)
			a.attach(nil)
		}()
		for a.gate.TryRLock() { // until the gate waits
			a.gate.RUnlock()
		}
		if err := a.shut(); !errors.Is(err, ErrRestoring) {
			t.Fatalf("got %v", err)
		}
		a.gate.RUnlock()
		<-attached
	}
}
