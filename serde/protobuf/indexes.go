package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message indexes say which message of its file a value is: the index of a message at the top of the file, then, for
// a nested one, the index within each message on the way. They stand between the schema's id and the payload, as
// zig-zag varints behind their count. The first message of a file, [0], is a single zero byte.

// maxIndexes bounds how deep messages may be nested in each other's definitions.
const maxIndexes = 64

var errIndexes = errors.New("protobuf: message indexes are cut off, negative or too many")

// indexesOf returns the way from the file to a message.
func indexesOf(md protoreflect.MessageDescriptor) []int {
	path := []int{md.Index()}
	for {
		parent, ok := md.Parent().(protoreflect.MessageDescriptor)
		if !ok {
			return path
		}
		path = slices.Insert(path, 0, parent.Index())
		md = parent
	}
}

func appendIndexes(dst []byte, path []int) []byte {
	if len(path) == 1 && path[0] == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendVarint(dst, int64(len(path)))
	for _, i := range path {
		dst = binary.AppendVarint(dst, int64(i))
	}
	return dst
}

// cutIndexes splits indexes, still encoded, off the payload: encoded they are what caches go by. The single zero byte of the first
// message is one form of two, and both may come.
func cutIndexes(b []byte) (encoded, payload []byte, err error) {
	count, at := binary.Varint(b)
	if at <= 0 || count < 0 || count > maxIndexes {
		return nil, nil, errIndexes
	}
	for range count {
		i, n := binary.Varint(b[at:])
		if n <= 0 || i < 0 || i > 1<<20 {
			return nil, nil, errIndexes
		}
		at += n
	}
	return b[:at], b[at:], nil
}

// messageAt returns the message that encoded indexes lead to.
func messageAt(file protoreflect.FileDescriptor, encoded []byte) (protoreflect.MessageDescriptor, error) {
	count, at := binary.Varint(encoded)
	if count == 0 {
		count, at, encoded = 1, 0, []byte{0} // the short form of [0]
	}
	messages := file.Messages()
	var md protoreflect.MessageDescriptor
	for range count {
		i, n := binary.Varint(encoded[at:])
		at += n
		if int(i) >= messages.Len() {
			return nil, fmt.Errorf("protobuf: message indexes lead outside of the schema, which has %d messages there", messages.Len())
		}
		md = messages.Get(int(i))
		messages = md.Messages()
	}
	return md, nil
}
