package avro

import "strings"

// sameUnits walks two schemas that resolve, and compares the units of their times. seen ends recursion.
func sameUnits(writer, reader *Type, path string, seen map[[2]*Type]bool) error {
	if seen[[2]*Type{writer, reader}] {
		return nil
	}
	seen[[2]*Type{writer, reader}] = true
	switch {
	case writer.Kind == KindUnion:
		for _, w := range writer.Branches {
			if err := sameUnits(w, reader, path, seen); err != nil {
				return err
			}
		}
		return nil
	case reader.Kind == KindUnion:
		return sameUnits(writer, counterpart(writer, reader), path, seen)
	case isTime(writer) && isTime(reader) && writer.Logical != reader.Logical:
		return &Incompatible{Path: rooted(path), Writer: writer.Logical, Reader: reader.Logical, Reason: "the unit of time differs"}
	case writer.Kind == KindArray && reader.Kind == KindArray, writer.Kind == KindMap && reader.Kind == KindMap:
		return sameUnits(writer.Elem, reader.Elem, path, seen)
	case writer.Kind == KindRecord && reader.Kind == KindRecord:
		return sameFieldUnits(writer, reader, path, seen)
	}
	return nil
}

func sameFieldUnits(writer, reader *Type, path string, seen map[[2]*Type]bool) error {
	for i := range reader.Fields {
		f := &reader.Fields[i]
		w := writer.field(f.Name)
		for _, alias := range f.Aliases {
			if w < 0 {
				w = writer.field(alias)
			}
		}
		if w < 0 {
			continue
		}
		if err := sameUnits(writer.Fields[w].Type, f.Type, strings.TrimPrefix(path+"."+f.Name, "."), seen); err != nil {
			return err
		}
	}
	return nil
}

// counterpart is the branch of a union that a value of t would be read as: one of the same kind and name first.
func counterpart(t, union *Type) *Type {
	best := &Type{Kind: KindNull}
	for _, b := range union.Branches {
		switch {
		case b.Kind == t.Kind && b.Name == t.Name:
			return b
		case b.Kind == t.Kind:
			best = b
		}
	}
	return best
}

// isTime tells whether t is a number that counts units of time.
func isTime(t *Type) bool {
	return t.Logical == "date" || strings.Contains(t.Logical, "time-") || strings.Contains(t.Logical, "timestamp-")
}

func rooted(path string) string {
	if path == "" {
		return "(root)"
	}
	return path
}
