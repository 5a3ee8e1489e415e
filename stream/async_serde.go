package stream

import (
	"encoding/binary"
	"errors"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/serde"
)

// A callSerde encodes the records of calls in flight: a version, time, flags, origin, headers, key and value, each with its length.
type callSerde[K, V any] struct {
	key   serde.Serde[K]
	value serde.Serde[V]
}

const callVersion = 1

func (s callSerde[K, V]) Append(dst []byte, r callRow[K, V]) ([]byte, error) {
	flags := byte(0)
	if r.noKey {
		flags = 1
	}
	dst = binary.AppendVarint(append(dst, callVersion, flags), r.time)
	dst = appendText(dst, r.origin.Topic)
	dst = binary.AppendVarint(binary.AppendVarint(dst, int64(r.origin.Partition)), r.origin.Offset)
	dst = binary.AppendUvarint(dst, uint64(len(r.headers)))
	for _, h := range r.headers {
		dst = appendText(appendText(dst, h.Key), string(h.Value))
	}
	key, err := s.key.Append(nil, r.k)
	if err != nil {
		return nil, err
	}
	return s.value.Append(appendText(dst, string(key)), r.v)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errCall = errors.New("the record of a call in flight is damaged")

func (s callSerde[K, V]) Decode(b []byte) (r callRow[K, V], err error) {
	if len(b) < 2 || b[0] != callVersion {
		return r, errCall
	}
	d := callDecoder{b[2:], true}
	r.noKey = b[1] == 1
	r.time = d.varint()
	r.origin = connector.Origin{Topic: d.text(), Partition: int32(d.varint()), Offset: d.varint()}
	for range d.count() {
		r.headers = append(r.headers, connector.Header{Key: d.text(), Value: []byte(d.text())})
	}
	key := d.text()
	if !d.ok {
		return r, errCall
	}
	if r.k, err = s.key.Decode([]byte(key)); err != nil {
		return r, err
	}
	r.v, err = s.value.Decode(d.b)
	return r, err
}

func (s callSerde[K, V]) Format() string { return "call/1:" + s.key.Format() + ":" + s.value.Format() }

// A callDecoder reads what Append wrote; ok stays false after the first fault.
type callDecoder struct {
	b  []byte
	ok bool
}

func (d *callDecoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.ok, d.b = false, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count is a length of something whose elements take at least a byte.
func (d *callDecoder) count() int {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > uint64(len(d.b)-n) {
		d.ok, d.b = false, nil
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

func (d *callDecoder) text() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}
