package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirstream/weir/state"
)

// TestBackgroundErrors: what Pebble would try again for ever, and in vain, ends the database under its name. What another try may mend does not.
func TestBackgroundErrors(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "000001.sst", Err: syscall.ENOSPC}
	for name, c := range map[string]struct{ err, want error }{
		"disk full":      {fmt.Errorf("flush: %w", full), state.ErrDiskFull},
		"corrupt":        {fmt.Errorf("compaction: %w", pebble.ErrCorruption), state.ErrCorrupt},
		"something else": {errors.New("interrupted"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHealth(nil)
			h.background(c.err)
			if err := h.err(); !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, c.err) {
				t.Errorf("the database's error is %v, want %v", err, c.want)
			}
			d := &db{health: h}
			if err := d.write(func() error { return nil }); !errors.Is(err, c.want) {
				t.Errorf("a write behind it: %v, want %v", err, c.want)
			}
		})
	}
}
