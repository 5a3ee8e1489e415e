package state

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FormatVersion is the version of the layout of stores that this package writes. It reads every version from 1 on.
const FormatVersion = 1

// A Format says how a store was written. It is kept beside the store's rows, for the engine.
type Format struct {
	Version    byte   // of the layout, FormatVersion when new
	Kind       string // "keyvalue", "window", "session", "versioned", "timers" …
	Key, Value string // Format() of the serdes
}

// A formatter is any serde.
type formatter interface{ Format() string }

// An evolver is a serde that reads bytes of other formats too: package serde's Evolver.
type evolver interface{ Accepts(stored string) error }

// NewFormat describes a store of kind with these serdes.
func NewFormat(kind string, key, value formatter) Format {
	return Format{FormatVersion, kind, key.Format(), value.Format()}
}

// AppendBinary appends the format's own encoding: the version, then three strings with their lengths before them.
func (f Format) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, f.Version)
	for _, s := range []string{f.Kind, f.Key, f.Value} {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	return dst, nil
}

var errBadFormat = errors.New("state: the record of a store's format is damaged")

// ParseFormat reads what AppendBinary wrote.
func ParseFormat(b []byte) (Format, error) {
	if len(b) == 0 || b[0] == 0 {
		return Format{}, errBadFormat
	}
	f := Format{Version: b[0]}
	b = b[1:]
	for _, s := range []*string{&f.Kind, &f.Key, &f.Value} {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return Format{}, errBadFormat
		}
		*s, b = string(b[w:w+int(n)]), b[w+int(n):]
	}
	return f, nil // a later version may have more behind; its version number says so
}

// Check reports, as an ErrFormat, why a store with format stored cannot be opened as kind with these serdes.
func (stored Format) Check(store, kind string, key, value formatter) error {
	if stored.Version > FormatVersion {
		return fmt.Errorf("%w: store %q has layout version %d, this program knows up to %d; use the newer program",
			ErrFormat, store, stored.Version, FormatVersion)
	}
	if stored.Kind != kind {
		return fmt.Errorf("%w: store %q is a %s store on disk and a %s store in the topology; give one of them another name",
			ErrFormat, store, stored.Kind, kind)
	}
	return errors.Join(check(store, "keys", stored.Key, key), check(store, "values", stored.Value, value))
}

func check(store, part, stored string, now formatter) error {
	if stored == now.Format() {
		return nil
	}
	err := fmt.Errorf("%w: store %q has %s in format %q, the topology has %q", ErrFormat, store, part, stored, now.Format())
	e, ok := now.(evolver)
	if !ok {
		return fmt.Errorf("%w; go back to the old serde, drop the store, or use a serde that evolves", err)
	}
	if why := e.Accepts(stored); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	return nil
}

// CheckStore reads the format kept at key and checks it. It reports whether the caller must write the record at key
// with the batch at hand: the store is new, or was written by an older serde that this one reads.
func CheckStore(db DB, key []byte, store, kind string, k, v formatter) (write bool, err error) {
	var stored Format
	found, err := db.Get(key, func(b []byte) (err error) {
		stored, err = ParseFormat(b)
		return err
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("store %q: %w", store, err)
	case !found:
		return true, nil
	}
	if err := stored.Check(store, kind, k, v); err != nil {
		return false, err
	}
	return stored != NewFormat(kind, k, v), nil
}
