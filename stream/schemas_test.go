package stream_test

import (
	"path/filepath"
	"testing"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// keeping is a registry that notes where it may keep schemas.
type keeping struct {
	serde.Registry
	dir string
}

func (k *keeping) UseCacheDir(dir string) { k.dir = dir }

func TestARegistryKeepsSchemasInTheAppsFolder(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		b := stream.New("app")
		nothing := func(func(connector.Record[string, string]) bool) {}
		b.Source(memory.From("in", nothing)).ForEach(func(stream.Record[string, string]) error { return nil })
		reg := &keeping{}
		if _, err := b.Compile(stream.Config{Registry: reg, StateDir: dir}); err != nil {
			t.Fatal(err)
		}
		want := ""
		if dir != "" {
			want = filepath.Join(dir, "app", "registry")
		}
		if reg.dir != want {
			t.Errorf("StateDir %q: schemas are kept in %q, want %q", dir, reg.dir, want)
		}
	}
}
