package serde

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A jsonShape is what JSON of a type looks like: the format of stored state, by which a program that changed the type
// learns when it opens a store, and not from the first value that does not decode, which field no longer fits.
//
// A type is a word: that of a scalar, "[]" or "{}" before the type of elements or a map's values, or "#" and the number
// of a struct. Pointers are what they point to, for null is read into anything.
type jsonShape struct {
	Root    string
	Structs []map[string]string // types by the names of members
}

const (
	jsonPlain  = "json" // of stored state: JSON that says no more
	jsonPrefix = jsonPlain + " "
	anyShape   = "any"
)

// jsonFormat returns the format of JSON[T].
func jsonFormat(t reflect.Type) string {
	s := shaper{numbers: map[reflect.Type]int{}}
	s.shape.Root = s.of(t)
	if s.shape.Root == anyShape {
		return jsonPlain
	}
	text, err := json.Marshal(s.shape, json.Deterministic(true))
	if err != nil { // a member's name that is not UTF-8: encoding will say so
		return jsonPlain
	}
	return jsonPrefix + string(text)
}

// A shaper numbers structs as it meets them.
type shaper struct {
	shape   jsonShape
	numbers map[reflect.Type]int
}

func (s *shaper) of(t reflect.Type) string {
	if own, _ := marshalsItself(t); own {
		return "custom " + t.String()
	}
	switch k := t.Kind(); k {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + s.of(t.Elem())
	case reflect.Map:
		return "{}" + s.of(t.Elem())
	case reflect.Struct:
		return "#" + strconv.Itoa(s.number(t))
	case reflect.Int, reflect.Uint: // of 64 bits wherever state was written
		return k.String() + "64"
	default:
		if reflect.Bool <= k && k <= reflect.Float64 || k == reflect.String {
			return k.String()
		}
	}
	return anyShape
}

func (s *shaper) number(t reflect.Type) int {
	n, ok := s.numbers[t]
	if !ok {
		n = len(s.shape.Structs)
		s.numbers[t] = n
		s.shape.Structs = append(s.shape.Structs, map[string]string{})
		s.members(t, s.shape.Structs[n], map[reflect.Type]bool{})
	}
	return n
}

// members fills in what a struct's object has. Those of embedded structs are its own, unless it has some of that name.
func (s *shaper) members(t reflect.Type, to map[string]string, within map[reflect.Type]bool) {
	if within[t] {
		return
	}
	within[t] = true
	var promoted []reflect.Type
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		elem := f.Type
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		switch own, _ := marshalsItself(elem); {
		case f.Tag.Get("json") == "-":
			continue
		case f.Anonymous && name == "" && elem.Kind() == reflect.Struct && !own:
			promoted = append(promoted, elem)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if _, ok := to[name]; ok {
			continue // of an outer struct
		}
		to[name] = s.of(f.Type)
		if slices.Contains(strings.Split(options, ","), "string") {
			to[name] = "string"
		}
	}
	for _, t := range promoted {
		s.members(t, to, within)
	}
}

// Accepts implements [Evolver]. JSON reads an older form when each member that both have kept its type, or has a wider
// one. New members are zero, and members that are gone are dropped when the value is written next.
func (s *jsonSerde[T]) Accepts(stored string) error {
	if stored == jsonPlain || s.format == jsonPlain {
		return nil // nobody wrote down what it looks like
	}
	var was, now jsonShape
	text, ok := strings.CutPrefix(stored, jsonPrefix)
	if !ok {
		return fmt.Errorf("%w: it was written as %.80q, and this program reads JSON", ErrIncompatible, stored)
	}
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return fmt.Errorf("%w: stored format %.80q: %w", ErrIncompatible, stored, err)
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(s.format, jsonPrefix)), &now); err != nil {
		return fmt.Errorf("serde: format %.80q: %w", s.format, err)
	}
	c := shapeComparison{was, now, map[[2]string]bool{}}
	return c.types(was.Root, now.Root, reflect.TypeFor[T]().String())
}

type shapeComparison struct {
	was, now jsonShape
	seen     map[[2]string]bool
}

func (c shapeComparison) types(was, now, path string) error {
	switch {
	case now == anyShape:
		return nil
	case nested(was, now, "[]"):
		return c.types(was[2:], now[2:], path+"[]")
	case nested(was, now, "{}"):
		return c.types(was[2:], now[2:], path+"{}")
	case nested(was, now, "#"):
		return c.structs(was, now, path)
	case was == now, slices.Contains(widerJSON[was], now):
		return nil
	}
	return fmt.Errorf("%w: field %s was %s, and is %s", ErrIncompatible, path, inWords(was), inWords(now))
}

func nested(was, now, prefix string) bool {
	return strings.HasPrefix(was, prefix) && strings.HasPrefix(now, prefix)
}

func (c shapeComparison) structs(was, now, path string) error {
	if c.seen[[2]string{was, now}] {
		return nil
	}
	c.seen[[2]string{was, now}] = true
	old, members := c.was.at(was), c.now.at(now)
	if old == nil || members == nil {
		return fmt.Errorf("%w: field %s: the stored format is damaged", ErrIncompatible, path)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if t, ok := old[name]; ok {
			if err := c.types(t, members[name], path+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// at returns the struct that a word has the number of.
func (s jsonShape) at(word string) map[string]string {
	n, err := strconv.Atoi(word[1:])
	if err != nil || n < 0 || n >= len(s.Structs) {
		return nil
	}
	return s.Structs[n]
}

func inWords(shape string) string {
	switch {
	case strings.HasPrefix(shape, "#"):
		return "an object"
	case strings.HasPrefix(shape, "[]"):
		return "a list"
	case strings.HasPrefix(shape, "{}"):
		return "a map"
	}
	return shape
}

// widerJSON has, for each kind of number, those that hold all its values.
var widerJSON = map[string][]string{
	"int8":    {"int16", "int32", "int64", "float32", "float64"},
	"int16":   {"int32", "int64", "float32", "float64"},
	"int32":   {"int64", "float64"},
	"uint8":   {"uint16", "uint32", "uint64", "int16", "int32", "int64", "float32", "float64"},
	"uint16":  {"uint32", "uint64", "int32", "int64", "float32", "float64"},
	"uint32":  {"uint64", "int64", "float64"},
	"float32": {"float64"},
}
