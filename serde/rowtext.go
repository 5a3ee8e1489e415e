package serde

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Date is a day, counted from 1970-01-01.
type Date int32

const secondsPerDay = 24 * 60 * 60

// DateOf returns the day of t in t's zone.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

// Time returns the start of the day in UTC.
func (d Date) Time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// String returns the day as 2006-01-02.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// The forms of scalars as text, which the text formats share.
const (
	timeForm  = "15:04:05.999999999"
	localForm = "2006-01-02T15:04:05.999999999"
)

// AppendText appends a scalar as text:
//
//	boolean           true, false
//	integers          plain digits
//	decimal           plain digits, as many behind the point as the type says
//	floats            the shortest digits that read back, NaN, Infinity, -Infinity
//	string            itself
//	bytes             base64 with padding
//	date              2006-01-02
//	time              15:04:05, and a fraction when there is one
//	timestamp         2006-01-02T15:04:05Z, always in UTC, likewise
//	local timestamp   2006-01-02T15:04:05, likewise
//
// Null, arrays, maps and rows have no text of their own; formats write those. Years outside 0 to 9999 are an error. For formats.
func (t Type) AppendText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float32:
		return appendFloat(dst, float64(v), 32), nil
	case float64:
		return appendFloat(dst, v, 64), nil
	case Decimal:
		fitted, err := v.Fit(t) // numbers that are equal have one text
		if err != nil {
			return dst, err
		}
		return append(dst, fitted.String()...), nil
	case string:
		return append(dst, v...), nil
	case []byte:
		return base64.StdEncoding.AppendEncode(dst, v), nil
	case Date:
		return appendYear(dst, v.Time(), time.DateOnly)
	case time.Duration:
		if err := checkTimeOfDay(v); err != nil {
			return dst, err
		}
		return time.Time{}.Add(v).AppendFormat(dst, timeForm), nil
	case time.Time:
		if t.kind == KindLocalTimestamp {
			return appendYear(dst, v, localForm)
		}
		return appendYear(dst, v.UTC(), time.RFC3339Nano)
	}
	return dst, fmt.Errorf("serde: a Go %T has no text of its own", v)
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendYear refuses years that would not read back.
func appendYear(dst []byte, v time.Time, form string) ([]byte, error) {
	if y := v.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("serde: year %d is outside 0 to 9999, which text can say", y)
	}
	return v.AppendFormat(dst, form), nil
}

// ParseText reads what AppendText writes. A timestamp may have any offset; a decimal may have an exponent, and fewer
// digits behind the point than its type. For formats.
func (t Type) ParseText(s string) (v any, err error) {
	switch t.kind {
	case KindBoolean:
		v, err = parseBool(s)
	case KindInt32:
		var i int64
		i, err = strconv.ParseInt(s, 10, 32)
		v = int32(i)
	case KindInt64:
		v, err = strconv.ParseInt(s, 10, 64)
	case KindUint64:
		v, err = strconv.ParseUint(s, 10, 64)
	case KindFloat32:
		var f float64
		f, err = parseFloat(s, 32)
		v = float32(f)
	case KindFloat64:
		v, err = parseFloat(s, 64)
	case KindDecimal:
		v, err = t.parseDecimal(s)
	case KindString:
		if !utf8.ValidString(s) {
			return nil, errNotUTF8
		}
		return s, nil
	case KindBytes:
		v, err = parseBytes(s)
	default:
		v, err = t.parseTime(s)
	}
	if err != nil {
		return nil, t.badText(s, err)
	}
	return v, nil
}

// badText leaves out what strconv says beside the reason, which is the text once more.
func (t Type) badText(s string, err error) error {
	if n := (*strconv.NumError)(nil); errors.As(err, &n) {
		err = n.Err
	}
	return fmt.Errorf("serde: %.40q is no %v: %w", s, t.NotNull(), err)
}

func (t Type) parseDecimal(s string) (Decimal, error) {
	d, err := ParseDecimal(s)
	if err != nil {
		return d, err
	}
	return d.Fit(t)
}

var errNoBool = errors.New("want true or false")

func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errNoBool
}

var errNoBase64 = errors.New("want base64 with padding and without line breaks")

func parseBytes(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") { // the decoder would skip them
		return nil, errNoBase64
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errNoBase64
	}
	return b, nil
}

var errNoFloat = errors.New("want a decimal number, NaN, Infinity or -Infinity")

// parseFloat keeps to the forms that AppendText writes: strconv would also take hexadecimal and underscores.
func parseFloat(s string, bits int) (float64, error) {
	switch s {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, errNoFloat
	}
	return strconv.ParseFloat(s, bits)
}

func (t Type) parseTime(s string) (any, error) {
	switch t.kind {
	case KindDate:
		d, err := time.Parse(time.DateOnly, s)
		return Date(d.Unix() / secondsPerDay), err
	case KindTime:
		d, err := time.Parse(timeForm, s)
		return d.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)), err
	case KindTimestamp:
		d, err := time.Parse(time.RFC3339Nano, s)
		return d.UTC(), err
	case KindLocalTimestamp:
		return time.Parse(localForm, s)
	}
	return nil, fmt.Errorf("serde: %v has no text of its own", t.kind)
}
