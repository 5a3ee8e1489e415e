package cases

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirstream/weir/serde"
)

// A value is any key or value of a case as its JSON text. "" is null: it never travels, a record then is NoKey or Deleted.
type value string

// UnmarshalJSON keeps the text.
func (v *value) UnmarshalJSON(b []byte) error {
	*v = value(b)
	if string(b) == "null" {
		*v = ""
	}
	return nil
}

func text(s string) value {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return value(b)
}

func number(n int64) value { return value(strconv.FormatInt(n, 10)) }

// String is the value as Kafka Streams' tests put it into texts: strings without quotes.
func (v value) String() string {
	if v == "" {
		return "null"
	}
	var s string
	if json.Unmarshal([]byte(v), &s) == nil {
		return s
	}
	return string(v)
}

// int is a number, or a text that is one.
func (v value) int() int64 {
	n, err := strconv.ParseFloat(v.String(), 64)
	if err != nil {
		panic(fmt.Sprintf("%q is no number", v))
	}
	return int64(n)
}

// isText reports whether the value is a JSON string.
func (v value) isText() bool { return strings.HasPrefix(string(v), `"`) }

// valueSerde is of keys and values in topics and state. Its bytes do not sort.
func valueSerde() serde.Serde[value] {
	return serde.New("case/1",
		func(dst []byte, v value) ([]byte, error) { return append(dst, v...), nil },
		func(b []byte) (value, error) { return value(b), nil })
}
