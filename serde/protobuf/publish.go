package protobuf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirstream/weir/serde"
)

// A publisher turns files into schemas of a registry, whose references are versions of other subjects.
type publisher struct {
	to       serde.Registry
	register bool // register imports that are not, else errNotRegistered
}

var errNotRegistered = errors.New("protobuf: an import is not registered")

// schema returns a file as a schema.
func (p publisher) schema(file protoreflect.FileDescriptor) (serde.Schema, error) {
	text, err := sourceOf(file)
	if err != nil {
		return serde.Schema{}, err
	}
	s := serde.Schema{Format: serde.FormatProtobuf, Text: text}
	for i := range file.Imports().Len() {
		imp := file.Imports().Get(i).FileDescriptor
		if standard(imp) {
			continue
		}
		ref, err := p.reference(imp)
		if err != nil {
			return serde.Schema{}, fmt.Errorf("import %q: %w", imp.Path(), err)
		}
		s.References = append(s.References, ref)
	}
	return s, nil
}

// standard files are known to every registry.
func standard(file protoreflect.FileDescriptor) bool {
	return file.Package() == "google.protobuf" || file.Package().Parent() == "google.protobuf"
}

// reference finds, or makes, the version of an import. The latest one is asked for first: it is nearly always the one, and
// a registry's client remembers for a while that a version was not there, which must not outlast our own registration.
func (p publisher) reference(file protoreflect.FileDescriptor) (serde.Reference, error) {
	subject := file.Path()
	s, err := p.schema(file)
	if err != nil {
		return serde.Reference{}, err
	}
	ctx := context.Background()
	_, latest, err := p.to.Latest(ctx, subject)
	switch {
	case err == nil && p.same(latest, s):
	case err != nil && !errors.Is(err, serde.ErrUnknownSchema):
		return serde.Reference{}, wrap(err)
	case !p.register:
		return serde.Reference{}, errNotRegistered
	default:
		if _, err := p.to.Register(ctx, subject, s); err != nil {
			return serde.Reference{}, wrap(err)
		}
	}
	version, err := p.versionOf(subject, s)
	return serde.Reference{Name: subject, Subject: subject, Version: version}, err
}

// maxVersions bounds the search for a version; deleted ones leave gaps, and maxGap ends it.
const (
	maxVersions = 1000
	maxGap      = 10
)

// versionOf returns the version of a subject that means what s means, which is there. A registry's contract tells ids,
// not versions, so they are looked at from the first on; versions never change, and a client keeps them.
func (p publisher) versionOf(subject string, s serde.Schema) (int, error) {
	for version, gap := 1, 0; version <= maxVersions && gap < maxGap; version++ {
		_, have, err := p.to.Version(context.Background(), subject, version)
		switch {
		case errors.Is(err, serde.ErrUnknownSchema):
			gap++
			continue
		case err != nil:
			return 0, wrap(err)
		case p.same(have, s):
			return version, nil
		}
		gap = 0
	}
	return 0, fmt.Errorf("protobuf: %w: subject %q does not show the version that it has been given", serde.ErrRegistryUnavailable, subject)
}

// same reports whether two schemas are one file, in whatever words.
func (p publisher) same(have, want serde.Schema) bool {
	if have.Text == want.Text && slices.Equal(have.References, want.References) {
		return true
	}
	a, err := p.meaning(have)
	if err != nil {
		return false
	}
	b, err := p.meaning(want)
	return err == nil && maps.Equal(a, b)
}

// meaning is the shapes of a schema's messages by name: what two texts of one file have in common.
func (p publisher) meaning(s serde.Schema) (map[string]string, error) {
	file, err := compileSchema(p.to, s)
	if err != nil {
		return nil, err
	}
	shapes := map[string]string{}
	for i := range file.Messages().Len() {
		md := file.Messages().Get(i)
		shapes[string(md.FullName())] = shapeOf(md).String()
	}
	for i := range file.Enums().Len() {
		shapes[string(file.Enums().Get(i).FullName())] = "enum"
	}
	return shapes, nil
}
