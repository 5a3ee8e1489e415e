package jsonschema

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// This file is the only one that knows the validator.

// A validator holds JSON to one schema. It is used by many goroutines at once.
type validator struct {
	schema *jsonschema.Schema
	title  string
}

// mainURL is where the schema is while it is compiled; relative references lead to its neighbours.
const mainURL = "weir:///schema.json"

// maxSchemaBytes bounds the text of one schema.
const maxSchemaBytes = 4 << 20

// compile makes a validator. Parts are the texts of other schemas by the names that references have for them.
func compile(text string, parts map[string]string) (v *validator, err error) {
	defer func() {
		if p := recover(); p != nil { // text from outside must not stop a task, whatever the library thinks of it
			err = fmt.Errorf("jsonschema: the schema makes the compiler panic: %v", p)
		}
	}()
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.UseLoader(loader(parts)) // the library's own would read files
	if err := c.AddResource(mainURL, doc); err != nil {
		return nil, fmt.Errorf("jsonschema: %w", err)
	}
	s, err := c.Compile(mainURL)
	if err != nil {
		return nil, fmt.Errorf("jsonschema: %w", err)
	}
	title := ""
	if object, ok := doc.(map[string]any); ok {
		title, _ = object["title"].(string)
	}
	return &validator{s, title}, nil
}

func document(text string) (any, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("jsonschema: schema has %d bytes, more than %d", len(text), maxSchemaBytes)
	}
	doc, err := parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("jsonschema: schema: %w", err)
	}
	return doc, nil
}

// loader finds what schemas refer to among the parts, and nowhere else: no file, no network.
type loader map[string]string

func (l loader) Load(url string) (any, error) {
	text, ok := l[url]
	for name := range l {
		if ok {
			break
		}
		if strings.HasSuffix(url, "/"+name) { // a relative reference, resolved against the schema's own id
			text, ok = l[name], true
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s is not among the schema's references", url)
	}
	return document(text)
}

// check returns nil when b is JSON that satisfies the schema.
func (v *validator) check(b []byte) error {
	doc, err := parse(b)
	if err != nil {
		return fmt.Errorf("jsonschema: %w", err)
	}
	if err := v.schema.Validate(doc); err != nil {
		return reasons(err)
	}
	return nil
}

// maxReasons bounds how many violations one error tells.
const maxReasons = 5

// reasons says where a value is not as the schema wants it, without the value: it may be secret, or huge.
func reasons(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("jsonschema: %w", err)
	}
	var list []string
	var collect func(e *jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && len(list) <= maxReasons {
			list = append(list, fmt.Sprintf("/%s breaks %q", strings.Join(e.InstanceLocation, "/"), strings.Join(e.ErrorKind.KeywordPath(), "/")))
		}
		for _, cause := range e.Causes {
			collect(cause)
		}
	}
	collect(invalid)
	slices.Sort(list) // the validator walks objects in Go's order of maps
	if len(list) > maxReasons {
		list[maxReasons] = "and more"
	}
	return fmt.Errorf("jsonschema: value does not satisfy the schema: %.1000s", strings.Join(list, ", "))
}

// Limits on what is validated. A number in JSON is short to write and, as the validator computes with it exactly,
// long to hold: 1e999999 has a million digits.
const (
	maxDepth    = 1000
	maxNumber   = 400 // bytes
	maxExponent = 400
)

var (
	errDepth  = fmt.Errorf("value is nested deeper than %d levels", maxDepth)
	errNumber = fmt.Errorf("a number is longer than %d bytes or has an exponent beyond ±%d", maxNumber, maxExponent)
)

// parse makes the values that the validator wants of one JSON text.
func parse(b []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(b))
	v, err := read(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err == nil {
		return nil, errors.New("there is more behind the value")
	} else if err != io.EOF {
		return nil, err
	}
	return v, nil
}

func read(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case '[':
		return readArray(d, depth+1)
	default:
		return readObject(d, depth+1)
	}
}

func number(s string) (any, error) {
	if len(s) > maxNumber {
		return nil, errNumber
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, errNumber
		}
	}
	return json.Number(strings.Clone(s)), nil
}

func readArray(d *jsontext.Decoder, depth int) (any, error) {
	v := []any{}
	for d.PeekKind() != ']' {
		e, err := read(d, depth)
		if err != nil {
			return nil, err
		}
		v = append(v, e)
	}
	_, err := d.ReadToken()
	return v, err
}

func readObject(d *jsontext.Decoder, depth int) (any, error) {
	v := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if v[key], err = read(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return v, err
}
