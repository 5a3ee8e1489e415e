//go:build unix

package statedir

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process, or fails at once.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// syncDir makes a rename durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// noSpace reports whether an error says that the disk is full.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) }
