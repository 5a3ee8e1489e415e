//go:build !unix

package statedir

import "os"

// lock does nothing where there is no flock: the backend's own lock keeps a second process out.
func lock(*os.File) error { return nil }

// syncDir does nothing where folders cannot be synced.
func syncDir(string) error { return nil }

// noSpace knows of no error that says so there.
func noSpace(error) bool { return false }
