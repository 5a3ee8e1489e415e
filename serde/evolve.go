package serde

import "fmt"

// An Evolver is a serde that reads values which were written in other formats than its own, as older versions of it.
// Values change format when they are written next, so a store may hold several: Decode tells them apart by their bytes.
type Evolver interface {
	// Accepts returns nil when Decode reads values of a store that was written under this format, else an error that
	// matches ErrIncompatible and names the field at fault.
	//
	// The engine calls it when a store opens, on the bound serde and before anything is decoded, once for each format
	// other than Format that the store has been opened under, oldest first. A serde may learn from it what it needs to
	// read those values.
	Accepts(stored string) error
}

// Accepts reports whether s reads a store that was written under another format: the same one, or one it [Evolver.Accepts].
// For the engine.
func Accepts[T any](s Serde[T], stored string) error {
	if stored == s.Format() {
		return nil
	}
	if e, ok := s.(Evolver); ok {
		return e.Accepts(stored)
	}
	return fmt.Errorf("%w: it was written as %q, and this program reads %q; see serde.Migrate", ErrIncompatible, stored, s.Format())
}
