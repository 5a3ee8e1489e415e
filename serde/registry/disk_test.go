package registry_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// files lists the files of a disk cache.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	})
	must(t, 0, err)
	return list
}

func TestARestartReadsFromDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		id := register(t, reg, "orders-value", v1)
		c := reg.Config()
		c.CacheDir = t.TempDir()
		s, err := registry.New(c).Schema(t.Context(), id)
		must(t, s, err)
		reg.SetFault(registrytest.Status(503))
		again := registry.New(c)
		s, err = again.Schema(t.Context(), id)
		if must(t, s, err).Text != v1 || again.Stats().DiskHits != 1 {
			t.Errorf("got %+v, %+v", s, again.Stats())
		}
		_, err = again.Schema(t.Context(), id+1)
		if !errors.Is(err, serde.ErrRegistryUnavailable) {
			t.Errorf("an id that is not on disk: %v", err)
		}
	})
}

func TestTheEngineNamesTheDirectory(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	named, given := t.TempDir(), t.TempDir()
	c := reg.Config()
	client := registry.New(c)
	client.UseCacheDir(given)
	_, err := client.Schema(t.Context(), id)
	must(t, 0, err)
	if len(files(t, given)) != 1 {
		t.Error("nothing was kept in the directory that the engine named")
	}
	c.CacheDir = named
	client = registry.New(c)
	client.UseCacheDir(given)
	_, err = client.Schema(t.Context(), id)
	must(t, 0, err)
	if len(files(t, named)) != 1 || len(files(t, given)) != 1 {
		t.Error("Config.CacheDir did not win")
	}
}

// Id 1 of one registry is not id 1 of another.
func TestAnotherRegistryHasAnotherDirectory(t *testing.T) {
	one, two := registrytest.New(), registrytest.New()
	register(t, one, "s", v1)
	register(t, two, "s", v2)
	dir := t.TempDir()
	c1, c2 := one.Config(), two.Config()
	c1.CacheDir, c2.CacheDir = dir, dir
	c2.URLs = []string{"http://elsewhere"}
	_, err := registry.New(c1).Schema(t.Context(), 1)
	must(t, 0, err)
	s, err := registry.New(c2).Schema(t.Context(), 1)
	if must(t, s, err).Text != v2 {
		t.Error("a schema of the first registry was read as one of the second")
	}
}

func TestABrokenFileIsAsGoodAsNone(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	other := register(t, reg, "orders-value", v2)
	c := reg.Config()
	c.CacheDir = t.TempDir()
	_, err := registry.New(c).Schema(t.Context(), id)
	must(t, 0, err)
	path := files(t, c.CacheDir)[0]
	whole, err := os.ReadFile(path)
	must(t, whole, err)
	flipped := func(at int) []byte {
		b := append([]byte(nil), whole...)
		b[at] ^= 1
		return b
	}
	broken := [][]byte{nil, []byte("{}"), []byte("null"), whole[:len(whole)-1], whole[:len(whole)/2]}
	for at := range whole {
		broken = append(broken, flipped(at))
	}
	for i, b := range broken {
		must(t, 0, os.WriteFile(path, b, 0o600))
		s, err := registry.New(c).Schema(t.Context(), id)
		if must(t, s, err).Text != v1 {
			t.Fatalf("case %d: %q was believed: %q", i, b, s.Text)
		}
	}
	// A file in another's place.
	_, err = registry.New(c).Schema(t.Context(), other)
	must(t, 0, err)
	for _, p := range files(t, c.CacheDir) {
		must(t, 0, os.WriteFile(p, whole, 0o600))
	}
	s, err := registry.New(c).Schema(t.Context(), other)
	if must(t, s, err).Text != v2 {
		t.Error("the file of one id was believed for another")
	}
}

func TestADiskThatFailsCostsNothingElse(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	c := reg.Config()
	c.CacheDir = filepath.Join(t.TempDir(), "file")
	must(t, 0, os.WriteFile(c.CacheDir, nil, 0o600)) // a directory cannot be made there
	client := registry.New(c)
	if _, err := client.Schema(t.Context(), id); err != nil {
		t.Error(err)
	}
	if st := client.Stats(); st.DiskFailures != 1 {
		t.Errorf("stats %+v", st)
	}
}
