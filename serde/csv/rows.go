package csv

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/serde"
)

// Rows makes rows of lines, field by field in the order of the type. The texts are those of serde.Type's AppendText:
// numbers in digits, bytes in base64, times in ISO 8601. Strings are UTF-8. A line with more or fewer fields is an error. Arrays, maps, rows
// within rows and the type of null have no place in a line: they are a Build error.
func Rows(t serde.Type, opts ...Option) serde.Serde[serde.Row] {
	return rows{newDialect(opts), t.NotNull(), serde.Rows(t)}
}

type rows struct {
	dialect
	typ serde.Type
	own serde.Serde[serde.Row]
}

func (s rows) Format() string { return s.format() + " " + s.own.Format() }

func (s rows) Problem() error {
	if err := errors.Join(s.dialect.Problem(), serde.Problem(s.own)); err != nil {
		return err
	}
	if s.typ.Len() == 0 {
		return errors.New("csv: a line has at least one field")
	}
	for i := range s.typ.Len() {
		switch f := s.typ.Field(i); f.Type.Kind() {
		case serde.KindArray, serde.KindMap, serde.KindRow, serde.KindNull:
			return fmt.Errorf("csv: field %s: a line has no place for %v", f.Name, f.Type)
		}
	}
	return nil
}

func (s rows) Append(dst []byte, v serde.Row) ([]byte, error) {
	if err := s.typ.Check(v); err != nil {
		return dst, fmt.Errorf("csv: %w", err)
	}
	out := dst
	for i := range s.typ.Len() {
		if i > 0 {
			out = append(out, byte(s.comma))
		}
		f := s.typ.Field(i)
		if v.At(i) == nil {
			out = append(out, s.null...)
			continue
		}
		from, err := len(out), error(nil)
		if out, err = f.Type.AppendText(out, v.At(i)); err != nil {
			return dst, fmt.Errorf("csv: %w", serde.Within("."+f.Name, err))
		}
		out = s.finish(out, from, f.Type.Nullable())
	}
	return out, nil
}

func (s rows) Decode(b []byte) (serde.Row, error) {
	line := s.scan(b)
	values := make([]any, s.typ.Len())
	for i := range values {
		if !line.more {
			return serde.Row{}, fmt.Errorf("csv: line has %d fields, want %d", i, len(values))
		}
		field, quoted, err := line.next()
		f := s.typ.Field(i)
		if err == nil && (quoted || !f.Type.Nullable() || string(field) != s.null) {
			values[i], err = f.Type.ParseText(string(field))
		}
		if err != nil {
			return serde.Row{}, fmt.Errorf("csv: %w", serde.Within("."+f.Name, err))
		}
	}
	if line.more {
		return serde.Row{}, fmt.Errorf("csv: line has more than %d fields", len(values))
	}
	return serde.MakeRow(s.typ, values), nil
}
