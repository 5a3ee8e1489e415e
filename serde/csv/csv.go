// Package csv encodes one line of comma-separated values as one record: its fields as strings ([Fields]), a row
// ([Rows]) or a Go struct ([Of]).
//
// The syntax is RFC 4180's: a field that holds the comma, a quote or a line break stands in quotes, and a quote in it is
// doubled. A line break at the end of the record is ignored. There are no headers: columns are known by their position.
package csv

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirstream/weir/serde"
)

// An Option changes the syntax.
type Option func(*dialect)

// Comma separates the fields by r. Default ','. It is one ASCII character, and no quote or line break.
func Comma(r rune) Option { return func(d *dialect) { d.comma = r } }

// Null is how a null is written, without quotes; the same text in quotes is a string. Default "", so that an empty field is null and
// "" in quotes is the empty string. It means null only where null is possible.
func Null(text string) Option { return func(d *dialect) { d.null = text } }

// dialect is the syntax.
type dialect struct {
	comma rune
	null  string
}

func newDialect(opts []Option) dialect {
	d := dialect{comma: ','}
	for _, o := range opts {
		o(&d)
	}
	return d
}

// Problem returns what is wrong with the options.
func (d dialect) Problem() error {
	if d.comma >= utf8.RuneSelf || d.comma < ' ' && d.comma != '\t' || d.comma == '"' {
		return fmt.Errorf("csv: %q cannot be the comma: it must be one ASCII character, no quote and no line break", d.comma)
	}
	if d.quotes(d.null) {
		return fmt.Errorf("csv: %q cannot be the null: it would be written in quotes", d.null)
	}
	return nil
}

// format names what the bytes depend on.
func (d dialect) format() string {
	if d == newDialect(nil) {
		return "csv"
	}
	return fmt.Sprintf("csv%q%q", d.comma, d.null)
}

// quotes reports whether a field must stand in quotes to be read as it is.
func (d dialect) quotes(field string) bool {
	return strings.IndexByte(field, byte(d.comma)) >= 0 || strings.ContainsAny(field, "\"\r\n")
}

// finish puts the field dst[from:] in quotes if it needs them, or would be read as null.
func (d dialect) finish(dst []byte, from int, mayBeNull bool) []byte {
	if field := string(dst[from:]); d.quotes(field) || mayBeNull && field == d.null {
		dst = append(dst[:from], '"')
		dst = append(dst, strings.ReplaceAll(field, `"`, `""`)...)
		dst = append(dst, '"')
	}
	return dst
}

var (
	errQuote   = errors.New("csv: a quote within a field that does not start with one, or text behind its closing quote")
	errOpen    = errors.New("csv: a quote is never closed")
	errNewline = errors.New("csv: a line break outside quotes: one record is one line")
)

// A scanner reads the fields of a line one by one.
type scanner struct {
	rest    []byte
	comma   byte
	more    bool // there is another field, if only an empty one
	scratch []byte
}

// scan starts at the first field. One line break at the end belongs to no field.
func (d dialect) scan(b []byte) scanner {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n > 1 && b[n-2] == '\r' {
			b = b[:n-2]
		}
	}
	return scanner{rest: b, comma: byte(d.comma), more: true}
}

// next returns the next field, which is valid until the next call.
func (s *scanner) next() (field []byte, quoted bool, err error) {
	if len(s.rest) > 0 && s.rest[0] == '"' {
		field, err = s.quoted()
		return field, true, err
	}
	for i, c := range s.rest {
		switch c {
		case s.comma:
			field, s.rest = s.rest[:i], s.rest[i+1:]
			return field, false, nil
		case '"':
			return nil, false, errQuote
		case '\n', '\r':
			return nil, false, errNewline
		}
	}
	field, s.rest, s.more = s.rest, nil, false
	return field, false, nil
}

// quoted reads a field that stands in quotes.
func (s *scanner) quoted() ([]byte, error) {
	s.scratch = s.scratch[:0]
	for from := 1; ; {
		i := bytes.IndexByte(s.rest[from:], '"')
		if i < 0 {
			return nil, errOpen
		}
		s.scratch = append(s.scratch, s.rest[from:from+i]...)
		from += i + 1
		switch {
		case from == len(s.rest):
			s.rest, s.more = nil, false
			return s.scratch, nil
		case s.rest[from] == s.comma:
			s.rest = s.rest[from+1:]
			return s.scratch, nil
		case s.rest[from] != '"':
			return nil, errQuote
		}
		s.scratch = append(s.scratch, '"')
		from++
	}
}

// Fields is the fields of a line as strings. Null has no meaning for it. A line has at least one field: no fields at all cannot be
// written, and neither is anything lost by quotes that were not needed.
func Fields(opts ...Option) serde.Serde[[]string] { return fields{newDialect(opts)} }

type fields struct{ dialect }

func (f fields) Format() string { return f.format() }

func (f fields) Append(dst []byte, v []string) ([]byte, error) {
	if len(v) == 0 {
		return dst, errors.New("csv: a line has at least one field")
	}
	for i, field := range v {
		if i > 0 {
			dst = append(dst, byte(f.comma))
		}
		dst = f.finish(append(dst, field...), len(dst), false)
	}
	return dst, nil
}

func (f fields) Decode(b []byte) ([]string, error) {
	s := f.scan(b)
	var v []string
	for s.more {
		field, _, err := s.next()
		if err != nil {
			return nil, fmt.Errorf("%w, in field %d", err, len(v)+1)
		}
		v = append(v, string(field))
	}
	return v, nil
}
