package protobuf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirstream/weir/serde"
)

// A shape is what encoding depends on in a message and those inside it: numbers, kinds and cardinalities of fields. As text
// it is the format of stored state, and two shapes say whether one reads what the other wrote.
type shape struct {
	root     string
	messages map[string]map[int]fieldShape // by full name, then by number
}

type fieldShape struct {
	name string
	card string // "", "repeated", "required", "map"
	kind string // as in source text; "message" and "group" have of
	of   string // full name of the message
}

// shapeOf walks everything that is reached from a message.
func shapeOf(md protoreflect.MessageDescriptor) shape {
	s := shape{string(md.FullName()), map[string]map[int]fieldShape{}}
	s.add(md)
	return s
}

func (s shape) add(md protoreflect.MessageDescriptor) {
	name := string(md.FullName())
	if s.messages[name] != nil {
		return
	}
	fields := map[int]fieldShape{}
	s.messages[name] = fields
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := fieldShape{name: string(fd.Name()), kind: fd.Kind().String()}
		switch {
		case fd.IsMap():
			f.card = "map"
		case fd.Cardinality() == protoreflect.Repeated:
			f.card = "repeated"
		case fd.Cardinality() == protoreflect.Required:
			f.card = "required"
		}
		if fd.Message() != nil {
			f.of = string(fd.Message().FullName())
			s.add(fd.Message())
		}
		fields[int(fd.Number())] = f
	}
}

// String writes the shape, as "a.Order{1 id int64;3 lines repeated message a.Line}a.Line{…}". It starts with the root.
func (s shape) String() string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(s.messages))
	slices.SortStableFunc(names, func(x, y string) int { return rank(x != s.root) - rank(y != s.root) })
	for _, name := range names {
		b.WriteString(name + "{")
		for i, number := range slices.Sorted(maps.Keys(s.messages[name])) {
			if i > 0 {
				b.WriteByte(';')
			}
			f := s.messages[name][number]
			b.WriteString(strings.Join(slices.DeleteFunc([]string{strconv.Itoa(number), f.name, f.card, f.kind, f.of}, func(p string) bool { return p == "" }), " "))
		}
		b.WriteByte('}')
	}
	return b.String()
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// parseShape reads what String wrote.
func parseShape(text string) (shape, error) {
	s := shape{messages: map[string]map[int]fieldShape{}}
	for text != "" {
		name, rest, ok := strings.Cut(text, "{")
		body, rest, ok2 := strings.Cut(rest, "}")
		if !ok || !ok2 {
			return shape{}, fmt.Errorf("protobuf: %.80q is no stored format", text)
		}
		if s.root == "" {
			s.root = name
		}
		fields := map[int]fieldShape{}
		s.messages[name] = fields
		for part := range strings.SplitSeq(body, ";") {
			if part == "" {
				continue
			}
			number, f, err := parseField(part)
			if err != nil {
				return shape{}, err
			}
			fields[number] = f
		}
		text = rest
	}
	return s, nil
}

func parseField(part string) (number int, f fieldShape, err error) {
	words := strings.Fields(part)
	if len(words) < 3 {
		return 0, f, fmt.Errorf("protobuf: %.80q is no field of a stored format", part)
	}
	if number, err = strconv.Atoi(words[0]); err != nil {
		return 0, f, fmt.Errorf("protobuf: %.80q is no field of a stored format", part)
	}
	f.name, words = words[1], words[2:]
	if slices.Contains([]string{"repeated", "required", "map"}, words[0]) {
		f.card, words = words[0], words[1:]
	}
	if len(words) > 0 {
		f.kind = words[0]
	}
	if len(words) > 1 {
		f.of = words[1]
	}
	return number, f, nil
}

// readable returns nil when reader reads what writer wrote, without losing a value that both have a field for, else
// an error that names the field.
func readable(writer, reader shape) error {
	c := comparison{writer, reader, map[[2]string]bool{}}
	return c.messages(writer.root, reader.root)
}

type comparison struct {
	writer, reader shape
	seen           map[[2]string]bool
}

func (c comparison) messages(writer, reader string) error {
	if c.seen[[2]string{writer, reader}] {
		return nil
	}
	c.seen[[2]string{writer, reader}] = true
	old := c.writer.messages[writer]
	for _, number := range slices.Sorted(maps.Keys(c.reader.messages[reader])) {
		now := c.reader.messages[reader][number]
		was, had := old[number]
		where := fmt.Sprintf("field %s.%s (%d)", reader, now.name, number)
		switch {
		case !had && now.card == "required":
			return fmt.Errorf("%w: %s is required, and was not there before", serde.ErrIncompatible, where)
		case !had:
			continue
		}
		if !cardReads(was.card, now.card) || !kindReads(was.kind, now.kind) {
			return fmt.Errorf("%w: %s was %s, and is %s", serde.ErrIncompatible, where, was.words(), now.words())
		}
		if was.of != "" && now.of != "" {
			if err := c.messages(was.of, now.of); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f fieldShape) words() string { return strings.TrimSpace(f.card + " " + f.kind) }

func cardReads(was, now string) bool {
	if was == now {
		return true
	}
	switch now {
	case "repeated":
		return was != "map"
	case "":
		return was == "required"
	}
	return false // what was optional may be missing, and a list has more than one
}

// wider has, for each kind, the kinds that read it as it was. Others share a wire type and cut values off.
var wider = map[string][]string{
	"bool":   {"int32", "int64", "uint32", "uint64"},
	"enum":   {"int32", "int64"},
	"int32":  {"int64", "enum"},
	"uint32": {"uint64", "int64"},
	"sint32": {"sint64"},
	"string": {"bytes"},
}

func kindReads(was, now string) bool {
	return was == now || slices.Contains(wider[was], now)
}
