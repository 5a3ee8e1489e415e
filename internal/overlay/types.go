package overlay

import (
	"reflect"
	"time"
	"unsafe"
)

// PlainType reports whether values of type t and their copies have nothing in common: scalars, strings, times, and
// arrays and structs of them. It is asked once, at Build.
func PlainType(t reflect.Type) bool {
	if t == timeType {
		return true // its *Location is never changed
	}
	switch t.Kind() {
	case reflect.Array:
		return PlainType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !PlainType(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.String:
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}

var timeType = reflect.TypeFor[time.Time]()

// hasPointers reports whether a V has memory of its own behind it.
func hasPointers[V any]() bool { return pointers(reflect.TypeFor[V]()) }

func pointers(t reflect.Type) bool {
	if t == timeType {
		return false
	}
	switch t.Kind() {
	case reflect.Array:
		return pointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() < reflect.Bool || t.Kind() > reflect.Complex128
}

// sizeOf returns a function for the memory behind strings and byte slices, and nil for other types.
func sizeOf[V any]() func(V) int {
	t := reflect.TypeFor[V]()
	switch {
	case t.Kind() == reflect.String:
		return func(v V) int { return len(*(*string)(unsafe.Pointer(&v))) }
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return func(v V) int { return cap(*(*[]byte)(unsafe.Pointer(&v))) }
	}
	return nil
}

// sizeOfDecoded is the memory behind a value whose encoded form has n bytes.
func (s *Store[V]) sizeOfDecoded(v V, n int) int {
	if s.cfg.Size != nil {
		return s.cfg.Size(v)
	}
	return n
}

// sizeAfterSet is the memory behind a value that was not encoded yet: that of the one before it, until Freeze knows.
func (s *Store[V]) sizeAfterSet(e *Entry[V], v V) int {
	switch {
	case s.cfg.Size != nil:
		return s.cfg.Size(v)
	case e.size == 0:
		return guessedBytes
	}
	return int(e.size)
}

// Usage is the memory of a store in bytes.
type Usage struct {
	Resident int // entries and keys, clean ones included
	Dirty    int // those of them that were changed since the last Freeze
	Waiting  int // those that were changed before, in a delta that is not applied
	Frozen   int // deltas that are not applied
}

// Usage says what the store holds. All but clean entries is what only a checkpoint can give back.
func (s *Store[V]) Usage() Usage {
	return Usage{s.bytes.resident, s.bytes.dirty, s.bytes.waiting, s.bytes.frozen}
}

// SetLimit changes Config.LimitBytes. Entries go as new ones come, or by Trim.
func (s *Store[V]) SetLimit(bytes int) { s.limit = bytes }

// Stats counts since New.
type Stats struct {
	Reads   uint64 // of the database: misses of the cache
	Evicted uint64 // entries forgotten
}

// Stats returns the counts.
func (s *Store[V]) Stats() Stats { return s.stats }
