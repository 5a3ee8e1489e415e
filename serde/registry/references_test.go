package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
)

// A scripted registry has a function for versions and nothing else.
type scripted struct {
	serde.Registry
	version func(subject string, version int) (serde.Schema, error)
}

func (s scripted) Version(_ context.Context, subject string, version int) (int, serde.Schema, error) {
	v, err := s.version(subject, version)
	return version, v, err
}

func TestReferencesEnd(t *testing.T) {
	ref := func(subject string) []serde.Reference {
		return []serde.Reference{{Name: subject, Subject: subject, Version: 1}}
	}
	for _, c := range []struct {
		name, want string
		version    func(string, int) (serde.Schema, error)
	}{
		{"a circle", "refers to itself", func(string, int) (serde.Schema, error) {
			return serde.Schema{Format: serde.FormatAvro, References: ref("a")}, nil
		}},
		{"no end", "more than 1000", func(s string, _ int) (serde.Schema, error) {
			return serde.Schema{Format: serde.FormatAvro, References: ref(s + "x")}, nil
		}},
		{"another format", "its format is JSON", func(string, int) (serde.Schema, error) { return serde.Schema{Format: serde.FormatJSON}, nil }},
		{"not there", `reference "a"`, func(string, int) (serde.Schema, error) { return serde.Schema{}, fmt.Errorf("gone") }},
	} {
		_, err := registry.References(t.Context(), scripted{version: c.version}, serde.Schema{Format: serde.FormatAvro, References: ref("a")})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
