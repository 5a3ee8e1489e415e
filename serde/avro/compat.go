package avro

import (
	"fmt"

	"github.com/weirstream/weir/serde"
)

// Incompatible says why what one schema wrote cannot be read by another. It matches [serde.ErrIncompatible].
type Incompatible struct {
	Path           string // of the field, as "Order.customer.name"
	Writer, Reader string // what each has there; "" for nothing
	Reason         string
}

func (e *Incompatible) Error() string {
	wrote := e.Writer
	if wrote == "" {
		wrote = "nothing"
	}
	return fmt.Sprintf("field %s: %s (written as %s, read as %s)", e.Path, e.Reason, wrote, e.Reader)
}

// Is makes errors.Is(err, serde.ErrIncompatible) hold.
func (e *Incompatible) Is(target error) bool { return target == serde.ErrIncompatible }

// CheckReadable returns nil when what writer wrote can be read as reader, by Avro's rules and one of ours: a time or
// date must not become one of another unit. Avro lets the number through as it is, and every value would be wrong.
func CheckReadable(writer, reader *Type) error {
	if err := resolvable(writer, reader); err != nil {
		return err
	}
	return sameUnits(writer, reader, reader.Name, map[[2]*Type]bool{})
}
