// Package schemaid has what the registry's serdes share about ids: where a record says its schema's id, and what was
// made of each id, once.
package schemaid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"github.com/weirstream/weir/serde"
)

// The headers that may name the schema instead of the first bytes of the value.
const (
	confluentKey   = "__key_schema_id"
	confluentValue = "__value_schema_id"
	apicurioKey    = "apicurio.key.contentId"
	apicurioValue  = "apicurio.value.contentId"
)

// A Locator finds the ids of records' schemas at one place of use.
type Locator struct {
	Registry serde.Registry
	Key      bool // looks at the headers of keys, else at those of values
	guids    Table[[16]byte, int]
}

// Locate finds the id of a record's schema and the payload behind it. A header wins over the prefix, because a value that
// has one has no prefix. More is what a header says behind the id, which only Protobuf has a use for; inHeader says that there
// was one.
func (l *Locator) Locate(b []byte, header func(name string) []byte) (id int, more, payload []byte, inHeader bool, err error) {
	confluent, apicurio := confluentValue, apicurioValue
	if l.Key {
		confluent, apicurio = confluentKey, apicurioKey
	}
	if h := header(confluent); h != nil {
		if id, more, err = l.confluent(h); err != nil {
			err = fmt.Errorf("header %s: %w", confluent, err)
		}
		return id, more, b, true, err
	}
	if h := header(apicurio); h != nil {
		if len(h) != 8 || binary.BigEndian.Uint64(h) > math.MaxInt32 {
			return 0, nil, nil, true, fmt.Errorf("header %s: want an id of 8 bytes, got % x", apicurio, h[:min(len(h), 20)])
		}
		return int(binary.BigEndian.Uint64(h)), nil, b, true, nil
	}
	id, payload, err = serde.CutSchemaID(b)
	return id, nil, payload, false, err
}

// guidMagic is the first byte of a header that names the schema by its GUID, as Confluent's serializers do; sixteen bytes follow.
const guidMagic = 1

// confluent reads a header: the bytes that are a prefix elsewhere, or a GUID.
func (l *Locator) confluent(h []byte) (id int, more []byte, err error) {
	if len(h) < 17 || h[0] != guidMagic {
		return serde.CutSchemaID(h)
	}
	guid := [16]byte(h[1:17])
	id, err = l.guids.Get(guid, func() (int, error) { return l.find(guid) })
	return id, h[17:], err
}

// find asks the registry for the id of a GUID. Not every registry has them.
func (l *Locator) find(guid [16]byte) (int, error) {
	r, ok := l.Registry.(interface {
		IDOfGUID(ctx context.Context, guid string) (int, error)
	})
	if !ok {
		return 0, errors.New("it names the schema by a GUID, and this registry finds schemas by id only")
	}
	text := fmt.Sprintf("%x-%x-%x-%x-%x", guid[:4], guid[4:6], guid[6:8], guid[8:10], guid[10:])
	return r.IDOfGUID(context.Background(), text) // the registry's own time-out ends it
}

// A Table keeps what was made of each key. Looking one up is a load and a map access, without a lock; a new one copies
// the map, since there are few schemas and many records. Errors about a schema are kept as well, because schemas do not
// change; errors of the registry are not. The zero Table is empty.
type Table[K comparable, V any] struct {
	last    atomic.Pointer[entry[K, V]] // records of one topic mostly have one schema
	entries atomic.Pointer[map[K]*entry[K, V]]
	mu      sync.Mutex // held by the goroutine that makes an entry
}

type entry[K comparable, V any] struct {
	key   K
	value V
	err   error
}

// maxEntries bounds a table. Ids come from records, and each costs a request; more than this is no topic but an attack.
const maxEntries = 10_000

// Get returns what make made of this key.
func (t *Table[K, V]) Get(key K, make func() (V, error)) (V, error) {
	if e := t.last.Load(); e != nil && e.key == key {
		return e.value, e.err
	}
	if m := t.entries.Load(); m != nil {
		if e, ok := (*m)[key]; ok {
			t.last.Store(e)
			return e.value, e.err
		}
	}
	return t.meet(key, make)
}

func (t *Table[K, V]) meet(key K, make func() (V, error)) (V, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	have := map[K]*entry[K, V]{}
	if m := t.entries.Load(); m != nil {
		have = *m
	}
	if e, ok := have[key]; ok {
		return e.value, e.err
	}
	v, err := make()
	if OfRegistry(err) || len(have) >= maxEntries {
		return v, err
	}
	next := maps.Clone(have)
	next[key] = &entry[K, V]{key, v, err}
	t.entries.Store(&next)
	return v, err
}

// OfRegistry reports whether an error may be gone at the next call: the registry is down, or does not know an id yet.
func OfRegistry(err error) bool {
	return errors.Is(err, serde.ErrRegistryUnavailable) || errors.Is(err, serde.ErrUnknownSchema)
}

// A Once keeps the first success of a function: what a serde writes with.
type Once[V any] struct {
	ready atomic.Pointer[V]
	mu    sync.Mutex
}

// Get returns what make returned when it first succeeded.
func (o *Once[V]) Get(make func() (V, error)) (V, error) {
	if v := o.ready.Load(); v != nil {
		return *v, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.ready.Load(); v != nil {
		return *v, nil
	}
	v, err := make()
	if err == nil {
		o.ready.Store(&v)
	}
	return v, err
}

// Fits asks a registry, when an app is built, whether it takes a schema under a subject. An old program that comes back may have
// a schema that no longer fits, but is there: then registering finds it. Else it is refused, and in more words than registries
// have for a check.
func Fits(r serde.Registry, subject string, s serde.Schema) error {
	ctx := context.Background() // the registry's own time-out ends it
	err := r.Compatible(ctx, subject, s)
	if errors.Is(err, serde.ErrIncompatible) {
		_, err = r.Register(ctx, subject, s)
	}
	return err
}
