package registrytest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/weirstream/weir/serde"
)

// A Level is a rule of compatibility, spelled as in the API.
type Level string

// The levels. A new registry has Backward, as Confluent's does.
const (
	None               Level = "NONE"
	Backward           Level = "BACKWARD"
	BackwardTransitive Level = "BACKWARD_TRANSITIVE"
	Forward            Level = "FORWARD"
	ForwardTransitive  Level = "FORWARD_TRANSITIVE"
	Full               Level = "FULL"
	FullTransitive     Level = "FULL_TRANSITIVE"
)

// A Registry is a [serde.Registry] and an http.Handler. It is used by many goroutines at once.
type Registry struct {
	mu       sync.Mutex
	schemas  []serde.Schema // id − 1 → schema
	subjects map[string][]version
	levels   map[string]Level // by subject; "" is the global one
	faults
}

// A version of a subject. Deleted ones keep their place.
type version struct {
	id      int
	deleted bool
}

var _ serde.Registry = (*Registry)(nil)

// New returns an empty registry.
func New() *Registry {
	return &Registry{subjects: map[string][]version{}, levels: map[string]Level{"": Backward}}
}

// SetCompatibility sets the level of a subject; "" is the level of subjects without one of their own.
func (r *Registry) SetCompatibility(subject string, l Level) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.levels[subject] = l
}

// Schema implements [serde.Registry].
func (r *Registry) Schema(_ context.Context, id int) (serde.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return asError(r.byID(id))
}

// Register implements [serde.Registry].
func (r *Registry) Register(_ context.Context, subject string, s serde.Schema) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, fail := r.register(subject, s, false)
	return id, direct(fail)
}

// GUID returns the GUID of the schema with this id, which depends on nothing but its content; "" if there is none.
func (r *Registry) GUID(id int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, fail := r.byID(id)
	if fail != nil {
		return ""
	}
	return guid(s)
}

func guid(s serde.Schema) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%v", s.Format, s.Text, s.References))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// IDOfGUID is how serdes find schemas that a record's header names by GUID.
func (r *Registry) IDOfGUID(_ context.Context, guid string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := r.withGUID(guid); id > 0 {
		return id, nil
	}
	return 0, direct(fail(40403, "Schema not found"))
}

// Latest implements [serde.Registry].
func (r *Registry) Latest(_ context.Context, subject string) (int, serde.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.atVersion(subject, latest)
}

// Version implements [serde.Registry].
func (r *Registry) Version(_ context.Context, subject string, number int) (int, serde.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.atVersion(subject, number)
}

// Compatible implements [serde.Registry].
func (r *Registry) Compatible(_ context.Context, subject string, s serde.Schema) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, _, fail := r.find(subject, latest); fail != nil {
		return nil
	}
	reasons, fail := r.conflicts(subject, s, latest)
	switch {
	case fail != nil:
		return direct(fail)
	case len(reasons) > 0:
		return fmt.Errorf("registrytest: subject %q: %w: %s", subject, serde.ErrIncompatible, reasons[0])
	}
	return nil
}

// IDs returns how many schemas there are; they have the ids from 1 to that.
func (r *Registry) IDs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.schemas)
}

// Subjects returns the names of all subjects, sorted.
func (r *Registry) Subjects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names()
}

// latest as a version number means the newest.
const latest = -1

// The methods below hold r.mu, and fail as the API does.

func (r *Registry) atVersion(subject string, number int) (int, serde.Schema, error) {
	id, _, fail := r.find(subject, number)
	if fail != nil {
		return 0, serde.Schema{}, direct(fail)
	}
	return id, r.schemas[id-1], nil
}

// withGUID returns the id of a GUID, 0 if there is none.
func (r *Registry) withGUID(text string) int {
	return 1 + slices.IndexFunc(r.schemas, func(s serde.Schema) bool { return guid(s) == text })
}

func (r *Registry) byID(id int) (serde.Schema, *failure) {
	if id < 1 || id > len(r.schemas) {
		return serde.Schema{}, fail(40403, "Schema %d not found", id)
	}
	return r.schemas[id-1], nil
}

// find returns the id at a version and the version's number.
func (r *Registry) find(subject string, number int) (id, at int, _ *failure) {
	list := r.subjects[subject]
	if !slices.ContainsFunc(list, func(v version) bool { return !v.deleted }) {
		return 0, 0, fail(40401, "Subject '%s' not found.", subject)
	}
	if number == latest {
		for number = len(list); list[number-1].deleted; number-- {
		}
	}
	if number < 1 || number > len(list) || list[number-1].deleted {
		return 0, 0, fail(40402, "Version %d not found.", number)
	}
	return list[number-1].id, number, nil
}

// lookup finds the version of a subject that has this schema.
func (r *Registry) lookup(subject string, s serde.Schema, normalize bool) (id, at int, _ *failure) {
	if _, _, fail := r.find(subject, latest); fail != nil {
		return 0, 0, fail
	}
	for i, v := range r.subjects[subject] {
		if !v.deleted && same(r.schemas[v.id-1], s, normalize) {
			return v.id, i + 1, nil
		}
	}
	return 0, 0, fail(40403, "Schema not found")
}

// register adds a version, or finds the one that has the schema.
func (r *Registry) register(subject string, s serde.Schema, normalize bool) (int, *failure) {
	if fail := r.valid(s); fail != nil {
		return 0, fail
	}
	if id, _, fail := r.lookup(subject, s, normalize); fail == nil {
		return id, nil
	}
	reasons, failure := r.conflicts(subject, s, latest)
	switch {
	case failure != nil && failure.code != 40401:
		return 0, failure
	case len(reasons) > 0:
		return 0, fail(409, "Schema being registered is incompatible with an earlier schema for subject %q, details: %q", subject, reasons)
	}
	id := r.intern(s)
	r.subjects[subject] = append(r.subjects[subject], version{id: id})
	return id, nil
}

// intern gives a schema its id: one id per content, whatever the subject.
func (r *Registry) intern(s serde.Schema) int {
	for i, have := range r.schemas {
		if same(have, s, false) {
			return i + 1
		}
	}
	r.schemas = append(r.schemas, s)
	return len(r.schemas)
}

func (r *Registry) names() []string {
	var list []string
	for name := range r.subjects {
		if _, _, fail := r.find(name, latest); fail == nil {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func (r *Registry) level(subject string) Level {
	if l, ok := r.levels[subject]; ok {
		return l
	}
	return r.levels[""]
}

// same compares texts, and with normalize what they mean.
func same(a, b serde.Schema, normalize bool) bool {
	if a.Format != b.Format || !slices.Equal(a.References, b.References) {
		return false
	}
	return a.Text == b.Text || normalize && normal(a) == normal(b)
}
