package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// FormatVersion is the version of the layout of stores that this package writes. It reads every version from 1 on.
const FormatVersion = 1

// A Format says how a store was written. It is kept beside the store's rows, for the engine.
type Format struct {
	Version    byte   // of the layout, FormatVersion when new
	Kind       string // "keyvalue", "window", "session", "versioned", "timers" …
	Key, Value string // Format() of the serdes

	// Earlier has the other formats that values may still be in, oldest first: a value changes its format when it is
	// written next, which may be never.
	Earlier []string
}

// A formatter is any serde.
type formatter interface{ Format() string }

// An evolver is a serde that reads bytes of other formats too: package serde's Evolver.
type evolver interface{ Accepts(stored string) error }

// NewFormat describes a store of kind with these serdes.
func NewFormat(kind string, key, value formatter) Format {
	return Format{Version: FormatVersion, Kind: kind, Key: key.Format(), Value: value.Format()}
}

// AppendBinary appends the format's own encoding: the version, then three strings and the earlier formats, with their
// lengths before them.
func (f Format) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, f.Version)
	for _, s := range append([]string{f.Kind, f.Key, f.Value}, f.Earlier...) {
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
	var parts []string
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return Format{}, errBadFormat
		}
		parts, b = append(parts, string(b[w:w+int(n)])), b[w+int(n):]
	}
	if len(parts) < 3 {
		return Format{}, errBadFormat
	}
	f.Kind, f.Key, f.Value = parts[0], parts[1], parts[2]
	if len(parts) > 3 {
		f.Earlier = parts[3:]
	}
	return f, nil
}

// values returns the formats that values may be in, oldest first.
func (f Format) values() []string { return append(slices.Clone(f.Earlier), f.Value) }

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
	errs := []error{check(store, "keys", stored.Key, key)}
	for _, format := range stored.values() {
		errs = append(errs, check(store, "values", format, value))
	}
	return errors.Join(errs...)
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

// CheckStore reads the format kept at key and checks it. It returns the record to keep there from now on: nil when the one
// that is there will do.
func CheckStore(db DB, key []byte, store, kind string, k, v formatter) (record []byte, err error) {
	var stored Format
	found, err := db.Get(key, func(b []byte) (err error) {
		stored, err = ParseFormat(b)
		return err
	})
	now := NewFormat(kind, k, v)
	switch {
	case err != nil:
		return nil, fmt.Errorf("store %q: %w", store, err)
	case !found:
		return now.AppendBinary(nil)
	}
	if err := stored.Check(store, kind, k, v); err != nil {
		return nil, err
	}
	if stored.Version == now.Version && stored.Key == now.Key && stored.Value == now.Value {
		return nil, nil
	}
	now.Earlier = slices.DeleteFunc(stored.values(), func(format string) bool { return format == now.Value })
	return now.AppendBinary(nil)
}
