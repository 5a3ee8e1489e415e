package schemaid

import (
	"context"

	"github.com/weirstream/weir/serde"
)

// A Choice says under which subject a serde's schema is, and which version of it to write with.
type Choice struct {
	strategy Strategy
	latest   bool
	version  int
}

// A Strategy names subjects; see registry.Strategy.
type Strategy = func(topic, record string, key bool) (string, error)

// NewChoice chooses the serde's own schema, which is to be registered.
func NewChoice(s Strategy) Choice { return Choice{strategy: s} }

// UseStrategy names the subject by another strategy. Nil changes nothing.
func (c *Choice) UseStrategy(s Strategy) {
	if s != nil {
		c.strategy = s
	}
}

// UseVersion chooses a fixed version of the subject.
func (c *Choice) UseVersion(n int) { c.version, c.latest = n, false }

// UseLatest chooses the subject's latest version.
func (c *Choice) UseLatest() { c.latest, c.version = true, 0 }

// Given reports whether the schema is the registry's, and not the serde's own to register.
func (c *Choice) Given() bool { return c.latest || c.version > 0 }

// Subject names the subject at a place of use. The record's name is empty when the schema has none.
func (c *Choice) Subject(at serde.Binding, record string) (string, error) {
	return c.strategy(at.Topic, record, at.Key)
}

// Find asks the registry for the schema of a choice that is Given.
func (c *Choice) Find(from serde.Registry, subject string) (int, serde.Schema, error) {
	ctx := context.Background() // the registry's own time-out ends it
	if c.latest {
		return from.Latest(ctx, subject)
	}
	return from.Version(ctx, subject, c.version)
}
