package avro

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
)

// Go walks maps in another order each time, and codecs write what they see. Equal values must have equal bytes, or a key
// that holds a map goes to any partition and is found in no store. So the entries of encoded maps are put in order.

// encoderOf compiles an encoder of a schema, by whose result equal values have equal bytes.
func encoderOf(c Codec, t *Type, goType reflect.Type) (Encoder, error) {
	encode, err := c.Encoder(t.text, goType)
	if err != nil || !holdsMap(t, map[*Type]bool{}) {
		return encode, err
	}
	return func(dst []byte, v any) ([]byte, error) {
		before := len(dst)
		dst, err := encode(dst, v)
		if err == nil {
			_, err = orderMaps(t, dst[before:], 0)
		}
		return dst, err
	}, nil
}

// holdsMap tells whether there is a map anywhere in a schema.
func holdsMap(t *Type, seen map[*Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if t.Kind == KindMap || t.Elem != nil && holdsMap(t.Elem, seen) {
		return true
	}
	for _, b := range t.Branches {
		if holdsMap(b, seen) {
			return true
		}
	}
	for i := range t.Fields {
		if holdsMap(t.Fields[i].Type, seen) {
			return true
		}
	}
	return false
}

// orderMaps puts the entries of all maps in an encoded value in the order of their keys, in place, and returns what follows
// the value.
func orderMaps(t *Type, b []byte, depth int) (rest []byte, err error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch t.Kind {
	case KindUnion:
		n, rest, err := short(b)
		if err != nil || n < 0 || n >= int64(len(t.Branches)) {
			return nil, errBranch
		}
		return orderMaps(t.Branches[n], rest, depth+1)
	case KindRecord:
		for i := range t.Fields {
			if b, err = orderMaps(t.Fields[i].Type, b, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	case KindArray, KindMap:
		for {
			count, rest, err := blockCount(b)
			if err != nil || count == 0 {
				return rest, err
			}
			if b, err = orderBlock(t, rest, int(count), depth); err != nil {
				return nil, err
			}
		}
	}
	return skip(t, b, depth)
}

// orderBlock orders one block of an array or map. Codecs write all entries of a map in one block.
func orderBlock(t *Type, b []byte, count, depth int) (rest []byte, err error) {
	type entry struct{ key, whole []byte }
	var entries []entry
	if t.Kind == KindMap {
		entries = make([]entry, 0, count)
	}
	rest = b
	for range count {
		start := rest
		if t.Kind == KindMap {
			if rest, err = skipText(false, rest); err != nil {
				return nil, err
			}
			entries = append(entries, entry{key: start[:len(start)-len(rest)]})
		}
		if rest, err = orderMaps(t.Elem, rest, depth+1); err != nil {
			return nil, err
		}
		if t.Kind == KindMap {
			entries[len(entries)-1].whole = start[:len(start)-len(rest)]
		}
	}
	// Keys are compared with their lengths in front: any order will do that is always the same.
	byKey := func(a, b entry) int { return cmp.Or(cmp.Compare(len(a.key), len(b.key)), bytes.Compare(a.key, b.key)) }
	if slices.IsSortedFunc(entries, byKey) {
		return rest, nil
	}
	slices.SortFunc(entries, byKey)
	ordered := make([]byte, 0, len(b)-len(rest))
	for _, e := range entries {
		ordered = append(ordered, e.whole...)
	}
	copy(b, ordered)
	return rest, nil
}
