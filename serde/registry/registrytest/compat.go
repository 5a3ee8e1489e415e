package registrytest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry"
)

// valid refuses what no serde could use.
func (r *Registry) valid(s serde.Schema) *failure {
	switch s.Format {
	case serde.FormatAvro:
		if _, err := r.avroType(s); err != nil {
			return fail(42201, "Invalid schema: %v", err)
		}
	case serde.FormatJSON:
		if !json.Valid([]byte(s.Text)) {
			return fail(42201, "Invalid schema: not JSON")
		}
	case serde.FormatProtobuf:
	default:
		return fail(42201, "Invalid schema type %s", s.Format)
	}
	return nil
}

// conflicts says why s does not fit a subject; none when it does. number is the version to compare with where the
// level is not transitive.
func (r *Registry) conflicts(subject string, s serde.Schema, number int) ([]string, *failure) {
	_, at, failure := r.find(subject, number)
	if failure != nil {
		return nil, failure
	}
	level := r.level(subject)
	from := at
	if level == BackwardTransitive || level == ForwardTransitive || level == FullTransitive {
		from = 1
	}
	var reasons []string
	for n := at; n >= from; n-- {
		v := r.subjects[subject][n-1]
		if v.deleted {
			continue
		}
		if err := r.fits(level, s, r.schemas[v.id-1]); err != nil {
			reasons = append(reasons, fmt.Sprintf("{oldSchemaVersion: %d, compatibility: '%s', reason: '%v'}", n, level, err))
		}
	}
	return reasons, nil
}

// fits compares a new schema with an old one.
func (r *Registry) fits(level Level, next, old serde.Schema) error {
	if level == None {
		return nil
	}
	if next.Format != old.Format {
		return fmt.Errorf("schema type %s, was %s", next.Format, old.Format)
	}
	if next.Format != serde.FormatAvro {
		return nil
	}
	newer, err := r.avroType(next)
	if err != nil {
		return err
	}
	older, err := r.avroType(old)
	if err != nil {
		return err
	}
	if level != Forward && level != ForwardTransitive {
		if err := avro.CheckReadable(older, newer); err != nil {
			return err
		}
	}
	if level != Backward && level != BackwardTransitive {
		return avro.CheckReadable(newer, older)
	}
	return nil
}

// avroType parses a schema with what it refers to. The lock is held, so it walks the references itself.
func (r *Registry) avroType(s serde.Schema) (*avro.Type, error) {
	parts, err := registry.References(context.Background(), unlocked{r}, s)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(parts)+1)
	for _, p := range parts {
		texts = append(texts, p.Schema.Text)
	}
	return avro.Parse(append(texts, s.Text)...)
}

// unlocked is a registry for one that holds its lock.
type unlocked struct{ *Registry }

func (u unlocked) Version(_ context.Context, subject string, number int) (int, serde.Schema, error) {
	return u.atVersion(subject, number)
}

// normal is what normalised schemas are compared by. For all formats but Avro it is JSON without its layout, or the text.
func normal(s serde.Schema) string {
	if s.Format == serde.FormatAvro {
		if t, err := avro.Parse(s.Text); err == nil {
			return t.String()
		}
	}
	var v any
	if json.Unmarshal([]byte(s.Text), &v) != nil {
		return s.Text
	}
	text, _ := json.Marshal(v)
	return string(text)
}
