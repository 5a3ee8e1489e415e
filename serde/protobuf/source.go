package protobuf

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// sourceOf returns the text of a file: what a registry wants, and generated code does not keep. It has all that
// encoding depends on; comments, services and options of other languages are gone. Files that use what the printer does not know (extensions,
// groups, editions) are their FileDescriptorProto in base64, which registries take as well.
func sourceOf(file protoreflect.FileDescriptor) (string, error) {
	p := printer{file: file}
	p.printFile()
	if !p.unknown {
		return p.text.String(), nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		return "", fmt.Errorf("protobuf: descriptor of %s: %w", file.Path(), err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// A printer writes a file as source text.
type printer struct {
	file    protoreflect.FileDescriptor
	text    strings.Builder
	indent  int
	unknown bool // something was left out that matters
}

func (p *printer) line(format string, args ...any) {
	p.text.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

func (p *printer) block(head string, body func()) {
	p.line("%s {", head)
	p.indent++
	body()
	p.indent--
	p.line("}")
}

func (p *printer) printFile() {
	syntax := p.file.Syntax()
	p.unknown = syntax != protoreflect.Proto2 && syntax != protoreflect.Proto3 || p.file.Extensions().Len() > 0
	p.line("syntax = %q;", syntax.String())
	if pkg := p.file.Package(); pkg != "" {
		p.line("package %s;", pkg)
	}
	for i := range p.file.Imports().Len() {
		imp := p.file.Imports().Get(i)
		public := ""
		if imp.IsPublic {
			public = "public "
		}
		p.line("import %s%q;", public, imp.Path())
	}
	for i := range p.file.Enums().Len() {
		p.printEnum(p.file.Enums().Get(i))
	}
	for i := range p.file.Messages().Len() {
		p.printMessage(p.file.Messages().Get(i))
	}
}

func (p *printer) printEnum(ed protoreflect.EnumDescriptor) {
	p.block("enum "+string(ed.Name()), func() {
		if hasAlias(ed) {
			p.line("option allow_alias = true;")
		}
		for i := range ed.Values().Len() {
			v := ed.Values().Get(i)
			p.line("%s = %d;", v.Name(), v.Number())
		}
		for i := range ed.ReservedRanges().Len() {
			r := ed.ReservedRanges().Get(i)
			p.line("reserved %d to %s;", r[0], upTo(int64(r[1]), math.MaxInt32))
		}
		p.printReservedNames(ed.ReservedNames())
	})
}

func hasAlias(ed protoreflect.EnumDescriptor) bool {
	seen := map[protoreflect.EnumNumber]bool{}
	for i := range ed.Values().Len() {
		n := ed.Values().Get(i).Number()
		if seen[n] {
			return true
		}
		seen[n] = true
	}
	return false
}

func upTo(n, most int64) string {
	if n >= most {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

func (p *printer) printReservedNames(names protoreflect.Names) {
	for i := range names.Len() {
		p.line("reserved %q;", names.Get(i))
	}
}

func (p *printer) printMessage(md protoreflect.MessageDescriptor) {
	p.unknown = p.unknown || md.ExtensionRanges().Len() > 0 || md.Extensions().Len() > 0
	p.block("message "+string(md.Name()), func() {
		for i := range md.ReservedRanges().Len() {
			r := md.ReservedRanges().Get(i)
			p.line("reserved %d to %s;", r[0], upTo(int64(r[1])-1, int64(protoreflect.FieldNumber(1<<29-1))))
		}
		p.printReservedNames(md.ReservedNames())
		for i := range md.Enums().Len() {
			p.printEnum(md.Enums().Get(i))
		}
		for i := range md.Messages().Len() {
			if m := md.Messages().Get(i); !m.IsMapEntry() {
				p.printMessage(m)
			}
		}
		p.printFields(md)
	})
}

// printFields prints a oneof where its first field is: that is the order that descriptors are compared in.
func (p *printer) printFields(md protoreflect.MessageDescriptor) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		one := fd.ContainingOneof()
		switch {
		case one == nil || one.IsSynthetic():
			p.printField(fd)
		case one.Fields().Get(0) == fd:
			p.block("oneof "+string(one.Name()), func() {
				for j := range one.Fields().Len() {
					p.printField(one.Fields().Get(j))
				}
			})
		}
	}
}

func (p *printer) printField(fd protoreflect.FieldDescriptor) {
	p.unknown = p.unknown || fd.Kind() == protoreflect.GroupKind
	label, typ := "", p.typeOf(fd)
	switch {
	case fd.IsMap():
		typ = "map<" + p.typeOf(fd.MapKey()) + ", " + p.typeOf(fd.MapValue()) + ">"
	case fd.ContainingOneof() != nil && !fd.ContainingOneof().IsSynthetic():
	case fd.Cardinality() == protoreflect.Repeated:
		label = "repeated "
	case fd.Cardinality() == protoreflect.Required:
		label = "required "
	case fd.HasOptionalKeyword():
		label = "optional "
	}
	options := ""
	if list := p.fieldOptions(fd); len(list) > 0 {
		options = " [" + strings.Join(list, ", ") + "]"
	}
	p.line("%s%s %s = %d%s;", label, typ, fd.Name(), fd.Number(), options)
}

// typeOf names a field's type in full, which means the same everywhere.
func (p *printer) typeOf(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.Message() != nil:
		return "." + string(fd.Message().FullName())
	case fd.Enum() != nil:
		return "." + string(fd.Enum().FullName())
	}
	return fd.Kind().String()
}

func (p *printer) fieldOptions(fd protoreflect.FieldDescriptor) []string {
	var list []string
	if fd.HasDefault() {
		list = append(list, "default = "+defaultOf(fd))
	}
	if packable(fd) && fd.IsPacked() != (p.file.Syntax() == protoreflect.Proto3) {
		list = append(list, fmt.Sprintf("packed = %t", fd.IsPacked()))
	}
	if fd.HasJSONName() && fd.JSONName() != lowerCamel(string(fd.Name())) {
		list = append(list, "json_name = "+quoted([]byte(fd.JSONName())))
	}
	return list
}

func packable(fd protoreflect.FieldDescriptor) bool {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return false
	}
	return fd.IsList()
}

// lowerCamel is the JSON name that a field has without being given one.
func lowerCamel(name string) string {
	var b strings.Builder
	upper := false
	for _, c := range []byte(name) {
		switch {
		case c == '_':
			upper = true
			continue
		case upper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}

func defaultOf(fd protoreflect.FieldDescriptor) string {
	v := fd.Default()
	switch fd.Kind() {
	case protoreflect.StringKind:
		return quoted([]byte(v.String()))
	case protoreflect.BytesKind:
		return quoted(v.Bytes())
	case protoreflect.EnumKind:
		return string(fd.DefaultEnumValue().Name())
	case protoreflect.FloatKind:
		return floatText(v.Float(), 32)
	case protoreflect.DoubleKind:
		return floatText(v.Float(), 64)
	}
	return v.String()
}

func floatText(v float64, bits int) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case math.IsNaN(v):
		return "nan"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// quoted writes bytes as a string literal, octal where they are not printable ASCII.
func quoted(b []byte) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			s.WriteByte('\\')
			s.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&s, "\\%03o", c)
		default:
			s.WriteByte(c)
		}
	}
	s.WriteByte('"')
	return s.String()
}
