package stream

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/serde"
)

// grown reads what it wrote as "v1".
type grown struct{ serde.Serde[string] }

func (grown) Format() string { return "v2" }

func (grown) Accepts(stored string) error {
	if stored != "v1" {
		return errors.New("field b is gone")
	}
	return nil
}

// A table's rows evolve as their values do.
func TestRowsEvolve(t *testing.T) {
	s := rowSerde[string]{grown{serde.String}}
	if err := serde.Accepts[row[string]](s, "row/1:v1"); err != nil {
		t.Error(err)
	}
	if err := serde.Accepts[row[string]](s, "row/1:v0"); err == nil || err.Error() != "field b is gone" {
		t.Errorf("a format that the value's serde does not read: %v", err)
	}
	for _, stored := range []string{"v1", "row/2:v1"} {
		if err := serde.Accepts[row[string]](s, stored); !errors.Is(err, serde.ErrIncompatible) {
			t.Errorf("%q: %v", stored, err)
		}
	}
	if err := serde.Accepts[row[string]](rowSerde[string]{serde.String}, "row/1:json"); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("a value that does not evolve: %v", err)
	}
}
