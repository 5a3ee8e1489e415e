package kafka

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// A position of a partition is one offset for each topic, in the order of their names:
//
//	version byte 1, then per topic: length of the name, name, offset (lengths and offsets as unsigned varints)
//
// Names are part of it, so that a source may be given more topics, or fewer, and its old positions still mean what they meant.
const positionVersion = 1

var errPosition = errors.New("kafka: the stored position is not one of this source")

// encodePosition sorts at.
func encodePosition(at []wire.TopicOffset) connector.Position {
	slices.SortFunc(at, func(a, b wire.TopicOffset) int { return strings.Compare(a.Topic, b.Topic) })
	b := []byte{positionVersion}
	for _, t := range at {
		b = binary.AppendUvarint(b, uint64(len(t.Topic)))
		b = append(b, t.Topic...)
		b = binary.AppendUvarint(b, uint64(t.Offset))
	}
	return connector.Position(b)
}

func decodePosition(p connector.Position) ([]wire.TopicOffset, error) {
	b := []byte(p)
	if len(b) == 0 || b[0] != positionVersion {
		return nil, errPosition
	}
	var out []wire.TopicOffset
	for b = b[1:]; len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errPosition
		}
		name := string(b[n : n+int(size)])
		b = b[n+int(size):]
		offset, n := binary.Uvarint(b)
		if n <= 0 || int64(offset) < 0 {
			return nil, errPosition
		}
		b = b[n:]
		out = append(out, wire.TopicOffset{Topic: name, Offset: int64(offset)})
	}
	return out, nil
}
