package house

import (
	"strings"
	"testing"
)

// layers are the packages from the bottom up. A package imports its own layer and those below. A folder that is not named
// belongs to the layer of the nearest one above it that is.
var layers = [][]string{
	{"internal/hugepage", "internal/radix", "internal/wire", "internal/relay", "internal/span", "internal/partition", "internal/keytree", "internal/faults"},
	{"serde", "window", "state", "table", "connector", "internal/overlay", "internal/statedir"},
	{"internal/topology"},
	{"internal/task"},
	{"internal/engine"},
	{"stream"},
	{"", "stream/streamtest", "internal/kafkatest", "internal/house", "internal/cases", "examples"},
}

// leaves hold third-party packages or a whole implementation of a contract. They may import the contracts (the two lowest
// layers) and each other below one folder; only user code, that is tests, examples and the top layer, may import them.
var leaves = []string{"connector/kafka", "connector/memory", "state/pebblestore", "serde/avro", "serde/protobuf", "serde/jsonschema",
	"serde/registry"}

// contracts is the highest layer that a leaf may import.
const contracts = 1

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range tree(t) {
		if f.test || f.kit() {
			continue
		}
		from, isLeaf := layer(t, f.folder), leaf(f.folder)
		for _, i := range f.imports {
			folder, ours := local(i)
			if !ours || folder == f.folder {
				continue
			}
			to, toLeaf := layer(t, folder), leaf(folder)
			top := len(layers) - 1
			switch {
			case toLeaf != "" && isLeaf == "" && from < top:
				t.Errorf("%s imports the leaf %s: what a program does not use it must not link. Go through the contract in connector, state or serde", f.path, folder)
			case toLeaf != "" && isLeaf != "" && !related(isLeaf, toLeaf):
				t.Errorf("%s imports another leaf, %s: leaves share contracts only", f.path, folder)
			case isLeaf != "" && toLeaf == "" && to > contracts:
				t.Errorf("%s is in a leaf and imports %s: leaves know only the contracts", f.path, folder)
			case isLeaf == "" && toLeaf == "" && to > from:
				t.Errorf("%s imports %s, which lies above it: imports point one way (see layers)", f.path, folder)
			}
		}
	}
}

// related leaves are the serdes of the schema registry: they share its client.
func related(a, b string) bool {
	return a == b || strings.HasPrefix(a, "serde/") && b == "serde/registry"
}

func TestWireUsesTheStandardLibraryOnly(t *testing.T) {
	for _, f := range tree(t) {
		if f.test || f.folder != "internal/wire" {
			continue
		}
		for _, i := range f.imports {
			if _, ours := local(i); ours || thirdParty(i) {
				t.Errorf("%s imports %s: the engine's contract with a cluster is std only", f.path, i)
			}
		}
	}
}

// homes says where a third-party module may be imported outside of tests. What is not listed may be imported nowhere.
var homes = map[string][]string{
	"github.com/IBM/sarama":                 {"connector/kafka"},
	"github.com/xdg-go/scram":               {"connector/kafka"},
	"github.com/rcrowley/go-metrics":        {"connector/kafka"},
	"github.com/klauspost/compress":         {"connector/kafka"},
	"github.com/pierrec/lz4":                {"connector/kafka"},
	"github.com/cockroachdb/pebble":         {"state/pebblestore"},
	"github.com/hamba/avro":                 {"serde/avro"},
	"github.com/twmb/avro":                  {"serde/avro"},
	"github.com/riferrei/srclient":          {"serde/registry"},
	"google.golang.org/protobuf":            {"serde/protobuf"},
	"github.com/bufbuild/protocompile":      {"serde/protobuf"},
	"github.com/santhosh-tekuri/jsonschema": {"serde/jsonschema"},
	"github.com/twmb/franz-go":              {"internal/kafkatest", "examples"},
	"golang.org/x/sys":                      {"state/pebblestore", "internal/engine"},
}

// onlyHome lists what not even a test elsewhere may import: tests of other packages go through the leaf.
var onlyHome = []string{"github.com/IBM/sarama", "github.com/cockroachdb/pebble"}

func TestThirdPartyPackagesStayAtHome(t *testing.T) {
	for _, f := range tree(t) {
		for _, i := range f.imports {
			if !thirdParty(i) {
				continue
			}
			home, known := home(i)
			strict := false
			for _, s := range onlyHome {
				strict = strict || strings.HasPrefix(i, s)
			}
			if atHome(f, home) || f.test && !strict {
				continue
			}
			if !known {
				t.Errorf("%s imports %s, which has no home: a new dependency needs a leaf, a line here and a reason in docs/adr", f.path, i)
				continue
			}
			t.Errorf("%s imports %s, which lives in %s only", f.path, i, strings.Join(home, ", "))
		}
	}
}

func home(imported string) ([]string, bool) {
	for prefix, folders := range homes {
		if imported == prefix || strings.HasPrefix(imported, prefix+"/") {
			return folders, true
		}
	}
	return nil, false
}

func atHome(f *file, folders []string) bool {
	for _, folder := range folders {
		if f.under(folder) {
			return true
		}
	}
	return false
}

func thirdParty(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	_, ours := local(imported)
	return strings.Contains(first, ".") && !ours
}

// local turns an import path of ours into a folder.
func local(imported string) (folder string, ours bool) {
	if imported == module {
		return "", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func leaf(folder string) string {
	for _, l := range leaves {
		if folder == l || strings.HasPrefix(folder, l+"/") {
			return l
		}
	}
	return ""
}

// layer is that of the longest named folder that holds this one.
func layer(t *testing.T, folder string) int {
	t.Helper()
	found, length := -1, -1
	for n, names := range layers {
		for _, name := range names {
			if (folder == name || name != "" && strings.HasPrefix(folder, name+"/")) && len(name) > length {
				found, length = n, len(name)
			}
		}
	}
	if found < 0 {
		t.Errorf("package %s has no layer: give it one in layers", folder)
	}
	return found
}
