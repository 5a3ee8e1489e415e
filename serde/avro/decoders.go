package avro

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// decoders keeps the compiled decoder of each writer's schema, by its id in the registry or its fingerprint. Looking one up
// is a load and a map access, without a lock; a new one copies the map, since there are few schemas and many records.
type decoders[K comparable] struct {
	table atomic.Pointer[map[K]Decoder]
	mu    sync.Mutex
}

func (d *decoders[K]) get(key K) Decoder {
	if m := d.table.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

func (d *decoders[K]) put(key K, dec Decoder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := map[K]Decoder{key: dec}
	if m := d.table.Load(); m != nil {
		for k, v := range *m {
			if k != key {
				next[k] = v
			}
		}
	}
	d.table.Store(&next)
}

// broken is the decoder of a schema that cannot be read: it is found out once, and every record that has it gets the reason.
func broken(err error) Decoder {
	return func([]byte, any) ([]byte, error) { return nil, err }
}

// compile checks that two schemas resolve and compiles their decoder.
func compile(c Codec, writer, reader *Type, t reflect.Type) (Decoder, error) {
	if writer.text != reader.text {
		if err := CheckReadable(writer, reader); err != nil {
			return nil, err
		}
	}
	return c.Decoder(writer.text, reader.text, t)
}
