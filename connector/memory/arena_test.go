package memory

import "testing"

// Null and empty are two things: a record without a key and one whose key has no bytes, a deletion and an empty value.
func TestArenaTellsNullFromEmpty(t *testing.T) {
	var a arena
	for range 2 {
		if got := a.copy([]byte{}); got == nil || len(got) != 0 {
			t.Errorf("empty became %v", got)
		}
		if got := a.copy(nil); got != nil {
			t.Errorf("null became %v", got)
		}
		if got := string(a.copy([]byte("some"))); got != "some" {
			t.Errorf("some became %q", got)
		}
		a = arena{free: a.free[:0:0]}
	}
}
