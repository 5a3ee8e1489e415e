package serde

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// Migrate opens state that was written as another type: what old wrote is decoded and converted when it is read, and written by
// now when it is written next. Nothing is rewritten before that, so Migrate stays for as long as the store does.
//
//	ValueSerde(serde.Migrate(serde.JSON[TotalV1](), serde.JSON[Total](), func(t TotalV1) (Total, error) { … }))
//
// The next migration goes around this one: Migrate(Migrate(v1, v2, f), v3, g).
//
// A value of the new type starts with eight bytes that tell it from old ones, as Avro's single objects do. They are for state and
// internal topics; in a source or sink, Migrate is a Build error. An error of convert is an error of the stored value.
//
// A change that the new type's own format reads (a field more in JSON or Protobuf, a schema that Avro resolves) needs no Migrate.
func Migrate[Old, New any](old Serde[Old], now Serde[New], convert func(Old) (New, error)) Serde[New] {
	m := &migration[Old, New]{old: old, now: now, convert: convert, depth: 1}
	if inner, ok := old.(interface{ migrations() int }); ok {
		m.depth += inner.migrations()
	}
	// The mark depends on the depth alone: a value keeps it when the new type's own format evolves.
	sum := sha256.Sum256([]byte("weir migration " + m.prefix()))
	m.mark = sum[:markSize]
	return m
}

const markSize = 8

type migration[Old, New any] struct {
	old     Serde[Old]
	now     Serde[New]
	convert func(Old) (New, error)
	depth   int // how many migrations this one and those around old are
	mark    []byte
}

func (m *migration[Old, New]) migrations() int { return m.depth }

// prefix is before the new type's format in that of the migration.
func (m *migration[Old, New]) prefix() string { return fmt.Sprintf("migrated/%d ", m.depth) }

func (m *migration[Old, New]) Format() string { return m.prefix() + m.now.Format() }

func (m *migration[Old, New]) Append(dst []byte, v New) ([]byte, error) {
	out, err := m.now.Append(append(dst, m.mark...), v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (m *migration[Old, New]) Decode(b []byte) (New, error) {
	if rest, ok := bytes.CutPrefix(b, m.mark); ok {
		return m.now.Decode(rest)
	}
	old, err := m.old.Decode(b)
	if err != nil {
		return *new(New), fmt.Errorf("value from before the migration: %w", err)
	}
	v, err := m.convert(old)
	if err != nil {
		return *new(New), fmt.Errorf("migrating a %T: %w", old, err)
	}
	return v, nil
}

// Accepts implements [Evolver].
func (m *migration[Old, New]) Accepts(stored string) error {
	if now, ok := strings.CutPrefix(stored, m.prefix()); ok {
		return Accepts(m.now, now)
	}
	return Accepts(m.old, stored)
}

var errNoConvert = errors.New("serde.Migrate: the conversion is nil")

// Problem reports what Migrate was not given; Build asks for it.
func (m *migration[Old, New]) Problem() error {
	if m.convert == nil {
		return errNoConvert
	}
	return errors.Join(Problem(m.old), Problem(m.now))
}

// Bind implements [Binder].
func (m *migration[Old, New]) Bind(at Binding) (Serde[New], error) {
	if !at.Internal {
		return nil, fmt.Errorf("serde.Migrate: topic %q: it is for state; readers of a topic would not know its mark", at.Topic)
	}
	old, err := Bind(m.old, at)
	if err != nil {
		return nil, err
	}
	now, err := Bind(m.now, at)
	if err != nil {
		return nil, err
	}
	return &migration[Old, New]{old, now, m.convert, m.depth, m.mark}, nil
}
