package protobuf

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
)

// This file is the only one that knows protocompile.

// mainFile is the name of the file that is compiled. A schema in a registry has no name, and no import can be called this.
const mainFile = "schema:main"

// maxSchemaBytes bounds the text of one schema.
const maxSchemaBytes = 4 << 20

// Parse compiles the text of a .proto file and returns one of its messages: its full name, its name without the package, or
// "" for the first message of the file. Imports are given by path; those of google/protobuf are known.
func Parse(message, source string, imports map[string]string) (protoreflect.MessageDescriptor, error) {
	file, err := compile(source, imports)
	if err != nil {
		return nil, err
	}
	return find(file, message)
}

// compile makes descriptors of source text.
func compile(source string, imports map[string]string) (file protoreflect.FileDescriptor, err error) {
	defer func() {
		if p := recover(); p != nil { // text from outside must not stop a task, whatever the compiler thinks of it
			err = fmt.Errorf("protobuf: the schema makes the compiler panic: %v", p)
		}
	}()
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(sources{source, imports}),
		MaxParallelism: 1,
		Reporter:       reporter.NewReporter(nil, func(reporter.ErrorWithPos) {}),
	}
	files, err := c.Compile(context.Background(), mainFile)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	return files[0], nil
}

// sources resolves names to text for the compiler.
type sources struct {
	main    string
	imports map[string]string
}

func (s sources) FindFileByPath(path string) (protocompile.SearchResult, error) {
	text, ok := s.imports[path]
	if path == mainFile {
		text, ok = s.main, true
	}
	if !ok {
		return protocompile.SearchResult{}, fmt.Errorf("import %q is not among the schema's references", path)
	}
	if len(text) > maxSchemaBytes {
		return protocompile.SearchResult{}, fmt.Errorf("schema %q has %d bytes, more than %d", path, len(text), maxSchemaBytes)
	}
	if fd := descriptorIn(text); fd != nil {
		fd.Name = proto.String(path)
		return protocompile.SearchResult{Proto: fd}, nil
	}
	return protocompile.SearchResult{Source: io.Reader(strings.NewReader(text))}, nil
}

// descriptorIn reads the other form that registries give schemas in: a FileDescriptorProto in base64.
func descriptorIn(text string) *descriptorpb.FileDescriptorProto {
	if strings.ContainsAny(text, "{};") { // every .proto file has one of these, base64 none
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil
	}
	fd := new(descriptorpb.FileDescriptorProto)
	if proto.Unmarshal(b, fd) != nil {
		return nil
	}
	return fd
}

// find returns the message of this name, as Parse describes it.
func find(file protoreflect.FileDescriptor, message string) (protoreflect.MessageDescriptor, error) {
	if message == "" {
		if file.Messages().Len() == 0 {
			return nil, errors.New("protobuf: the schema has no messages")
		}
		return file.Messages().Get(0), nil
	}
	name := strings.TrimPrefix(message, string(file.Package())+".")
	messages := file.Messages()
	var md protoreflect.MessageDescriptor
	for part := range strings.SplitSeq(name, ".") {
		if md = messages.ByName(protoreflect.Name(part)); md == nil {
			return nil, fmt.Errorf("protobuf: the schema has no message %q", message)
		}
		messages = md.Messages()
	}
	return md, nil
}

// compileSchema compiles a schema of the registry after those it imports.
func compileSchema(from serde.Registry, s serde.Schema) (protoreflect.FileDescriptor, error) {
	if s.Format != serde.FormatProtobuf {
		return nil, fmt.Errorf("protobuf: it is a schema of format %s, not Protobuf; is this the right serde for the topic?", s.Format)
	}
	parts, err := registry.References(context.Background(), from, s)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	imports := make(map[string]string, len(parts))
	for _, p := range parts {
		imports[p.Name] = p.Schema.Text
	}
	return compile(s.Text, imports)
}
