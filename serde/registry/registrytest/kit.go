package registrytest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
)

// Open returns a registry for one test: the real one at WEIR_REGISTRY_URL when WEIR_REGISTRY is "real" (scripts/registry run
// sets both), else one in memory behind HTTP. Other tests may use the same one, so subjects should have names of their
// own: see [Subject].
func Open(t testing.TB) serde.Registry {
	t.Helper()
	if os.Getenv("WEIR_REGISTRY") != "real" {
		return registry.New(New().Config())
	}
	url := os.Getenv("WEIR_REGISTRY_URL")
	if url == "" {
		t.Fatal(`WEIR_REGISTRY is "real" and WEIR_REGISTRY_URL is empty; run the tests by scripts/registry run`)
	}
	return registry.New(registry.Config{URLs: []string{url}})
}

// Subject returns a name that no other test has used, beginning with prefix.
func Subject(prefix string) string { return prefix + "-" + rand.Text() }

// Conform is the kit of a [serde.Registry]: what serdes rely on. open is called once for each part.
func Conform(t *testing.T, open func(t *testing.T) serde.Registry) {
	for name, part := range map[string]func(*testing.T, serde.Registry){
		"ids": ids, "versions": versions, "unknown": unknown, "formats": formats, "references": references, "names": names, "concurrent": concurrent,
	} {
		t.Run(name, func(t *testing.T) { part(t, open(t)) })
	}
}

// record is a schema whose name nobody else has, so that its id is nobody else's.
func record(name, fields string) serde.Schema {
	return serde.Schema{Format: serde.FormatAvro, Text: fmt.Sprintf(`{"type":"record","name":"%s","fields":[{"name":"id","type":"long"}%s]}`, name, fields)}
}

func unique() string { return "R" + rand.Text() }

func get[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func registered(t *testing.T, r serde.Registry, subject string, s serde.Schema) int {
	t.Helper()
	id, err := r.Register(t.Context(), subject, s)
	return get(t, id, err)
}

// ids: a schema has one id, whatever the subject and however often it is registered.
func ids(t *testing.T, r serde.Registry) {
	s := record(unique(), "")
	id := registered(t, r, Subject("a"), s)
	if again := registered(t, r, Subject("b"), s); again != id {
		t.Errorf("ids %d and %d for one schema", id, again)
	}
	back, err := r.Schema(t.Context(), id)
	if got := get(t, back, err); got.Format != serde.FormatAvro || got.Text != s.Text {
		t.Errorf("registered %v, got %v", s, got)
	}
}

func versions(t *testing.T, r serde.Registry) {
	subject, name := Subject("v"), unique()
	texts := []serde.Schema{record(name, ""), record(name, `,{"name":"a","type":"int","default":0}`)}
	var want []int
	for _, s := range texts {
		want = append(want, registered(t, r, subject, s))
	}
	for i, s := range texts {
		id, got, err := r.Version(t.Context(), subject, i+1)
		if get(t, id, err) != want[i] || got.Text != s.Text {
			t.Errorf("version %d is %d %v", i+1, id, got)
		}
	}
	if again := registered(t, r, subject, texts[0]); again != want[0] {
		t.Errorf("registering an old version again gave id %d, want %d", again, want[0])
	}
	id, got, err := r.Latest(t.Context(), subject)
	if get(t, id, err) != want[1] || got.Text != texts[1].Text {
		t.Errorf("latest is %d %v", id, got)
	}
	if err := r.Compatible(t.Context(), subject, texts[1]); err != nil {
		t.Errorf("a schema that is there already: %v", err)
	}
}

func unknown(t *testing.T, r serde.Registry) {
	subject := Subject("u")
	_, byID := r.Schema(t.Context(), 1<<30)
	_, _, byLatest := r.Latest(t.Context(), subject)
	_, _, bySubject := r.Version(t.Context(), subject, 1)
	registered(t, r, subject, record(unique(), ""))
	_, _, byVersion := r.Version(t.Context(), subject, 7)
	for what, err := range map[string]error{"an id": byID, "a subject's latest": byLatest, "a subject": bySubject, "a version": byVersion} {
		if !errors.Is(err, serde.ErrUnknownSchema) || errors.Is(err, serde.ErrRegistryUnavailable) {
			t.Errorf("%s that does not exist: %v", what, err)
		}
	}
	if err := r.Compatible(t.Context(), Subject("u"), record(unique(), "")); err != nil {
		t.Errorf("a subject that does not exist takes anything: %v", err)
	}
	bad := serde.Schema{Format: serde.FormatAvro, Text: `{"type":"recor`}
	if _, err := r.Register(t.Context(), subject, bad); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("a schema that is none: %v", err)
	}
}

func formats(t *testing.T, r serde.Registry) {
	for _, s := range []serde.Schema{
		record(unique(), ""),
		{Format: serde.FormatProtobuf, Text: "syntax = \"proto3\";\nmessage " + unique() + " {\n  int64 id = 1;\n}\n"},
		{Format: serde.FormatJSON, Text: `{"type":"object","title":"` + unique() + `","properties":{"id":{"type":"integer"}}}`},
	} {
		id := registered(t, r, Subject("f"), s)
		back, err := r.Schema(t.Context(), id)
		if got := get(t, back, err); got.Format != s.Format || got.Text != s.Text {
			t.Errorf("registered %+v, got %+v", s, got)
		}
	}
}

func references(t *testing.T, r serde.Registry) {
	subject, name := Subject("ref"), unique()
	registered(t, r, subject, record(name, ""))
	s := record(unique(), `,{"name":"in","type":"`+name+`"}`)
	s.References = []serde.Reference{{Name: name, Subject: subject, Version: 1}}
	id := registered(t, r, Subject("whole"), s)
	back, err := r.Schema(t.Context(), id)
	if got := get(t, back, err); !slices.Equal(got.References, s.References) {
		t.Errorf("the references came back as %+v", got.References)
	}
	parts, err := registry.References(t.Context(), r, s)
	if got := get(t, parts, err); len(got) != 1 || got[0].Name != name {
		t.Errorf("parts %+v", got)
	}
}

// names: subjects are topics and record names with anything in them.
func names(t *testing.T, r serde.Registry) {
	for _, prefix := range []string{"a.b.C", "a b", "ä", "100%", "a+b", "q?x=1"} {
		subject := Subject(prefix) + "-value"
		id := registered(t, r, subject, record(unique(), ""))
		if got, _, err := r.Latest(t.Context(), subject); get(t, got, err) != id {
			t.Errorf("subject %q: id %d, want %d", subject, got, id)
		}
	}
}

// concurrent: many tasks register one schema at once, and all get one id.
func concurrent(t *testing.T, r serde.Registry) {
	subject, s := Subject("c"), record(unique(), "")
	var group sync.WaitGroup
	got := make([]int, 8)
	for i := range got {
		group.Go(func() {
			id, err := r.Register(t.Context(), subject, s)
			if err != nil {
				t.Error(err)
			}
			got[i] = id
		})
	}
	group.Wait()
	if len(slices.Compact(got)) != 1 {
		t.Errorf("ids %v for one schema", got)
	}
}
