package streamtest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// An In writes an input topic. Records go to the partition that Kafka's partitioner gives their key, those without a key to each in
// turn.
type In[K, V any] struct {
	d       *Driver
	topic   string
	cluster *memory.Cluster // nil: feed
	feed    *feed[K, V]
	codec   *codec[K, V]
	turn    int
}

// In is the typed end of an input topic. Types that differ from the topology's fail the test. A topic that matches a source's
// pattern is made. A source that is not a topic is fed by In instead of reading what it reads: ask before the app has started.
func (d *Driver) In[K, V any](topic string) *In[K, V] {
	d.t.Helper()
	e := d.source(topic)
	on, isTopic := isTopic(e)
	in := &In[K, V]{d: d, topic: topic}
	if !isTopic {
		in.feed = replaced(d, e, func() *feed[K, V] { return newFeed[K, V](e.Name, d.how.partitions) })
		return in
	}
	in.cluster = d.world.on(on)
	in.codec = codecOf[K, V](d, e, topic)
	return in
}

// source finds who reads a topic.
func (d *Driver) source(topic string) *stream.End {
	d.t.Helper()
	for try := 0; ; try++ {
		var names []string
		for _, e := range d.ends {
			if !e.Source {
				continue
			}
			for _, name := range d.world.topics(e) {
				if name == topic {
					return e
				}
				names = append(names, name)
			}
		}
		if try == 1 {
			d.t.Fatalf("streamtest: no source reads %q. The sources are of: %s", topic, strings.Join(names, ", "))
		}
		d.world.make(topic) // a pattern may match it
	}
}

// Send writes a record with the time of the wall clock.
func (in *In[K, V]) Send(k K, v V) {
	in.d.t.Helper()
	in.SendAt(in.d.Now(), k, v)
}

// SendAt is Send with a time.
func (in *In[K, V]) SendAt(t time.Time, k K, v V) {
	in.d.t.Helper()
	in.SendRecord(stream.Record[K, V]{Key: k, Value: v, Time: t})
}

// Delete writes a null value, with the time of the wall clock.
func (in *In[K, V]) Delete(k K) {
	in.d.t.Helper()
	in.SendRecord(stream.Record[K, V]{Key: k, Deleted: true, Time: in.d.Now()})
}

// SendRecord writes a whole record: with its headers, with a null key if it is NoKey and a null value if it is Deleted. Its Origin
// does not count.
func (in *In[K, V]) SendRecord(r stream.Record[K, V]) {
	in.d.t.Helper()
	in.open()
	if in.feed != nil {
		in.feed.add(r)
		in.d.poll()
		return
	}
	key, value, err := in.codec.encode(&r)
	if err != nil {
		in.d.t.Fatalf("streamtest: In(%q): %v", in.topic, err)
	}
	in.write(r.Time, key, value, r.Headers)
}

// SendBytes writes bytes, past the serdes, with the time of the wall clock. nil is a null.
func (in *In[K, V]) SendBytes(key, value []byte) {
	in.d.t.Helper()
	in.open()
	if in.feed != nil {
		in.d.t.Fatalf("streamtest: In(%q): the source is not a topic, its records have no bytes", in.topic)
	}
	in.write(in.d.Now(), key, value, nil)
}

// open fails the test when no record may come any more.
func (in *In[K, V]) open() {
	in.d.t.Helper()
	if t, ok := in.d.promises[in.topic]; ok && t.Equal(endOfTime) {
		in.d.t.Fatalf("streamtest: In(%q): a record after End", in.topic)
	}
}

// write appends a record and lets the app read it.
func (in *In[K, V]) write(t time.Time, key, value []byte, h connector.Headers) {
	in.d.t.Helper()
	in.d.poll() // what is due so far happens without it
	n := in.d.world.partitions(in.cluster, in.topic)
	p := in.turn % n
	if key == nil {
		in.turn++
	} else {
		p = int(partition.Of(key, int32(n)))
	}
	if _, err := in.cluster.Append(in.topic, int32(p), wire.Record{Time: t.UnixMilli(), Key: key, Value: value, Headers: h}); err != nil {
		in.d.t.Fatalf("streamtest: In(%q): %v", in.topic, err)
	}
	in.d.poll()
}

// Advance promises that no record before t comes in any partition. A record that breaks the promise is late.
func (in *In[K, V]) Advance(t time.Time) {
	in.d.t.Helper()
	in.open()
	in.promise(t)
}

// End promises that no record comes at all: everything closes.
func (in *In[K, V]) End() { in.promise(endOfTime) }

func (in *In[K, V]) promise(t time.Time) {
	in.d.poll()
	in.d.promises[in.topic] = t
	if in.d.err == nil {
		in.d.promise()
	}
}

// A codec encodes and decodes as a topic's source or sink does.
type codec[K, V any] struct {
	key   serde.Serde[K]
	value serde.Serde[V]
}

// codecOf asks a source or sink for its serdes and binds them.
func codecOf[K, V any](d *Driver, e *stream.End, topic string) *codec[K, V] {
	d.t.Helper()
	s, ok := e.Connector.(interface {
		Serdes() (serde.Serde[K], serde.Serde[V])
	})
	if !ok {
		d.t.Fatalf("streamtest: %q is a %v, which does not carry %v and %v", topic, reflect.TypeOf(e.Connector), reflect.TypeFor[K](), reflect.TypeFor[V]())
	}
	k, v := s.Serdes()
	at := serde.Binding{App: d.compiled.Plan.App, Topic: e.Name, Key: true, Writes: e.Source, Registry: d.compiled.Registry()}
	c := &codec[K, V]{}
	var err error
	if c.key, err = serde.Bind(k, at); err != nil {
		d.t.Fatalf("streamtest: key of %q: %v", topic, err)
	}
	at.Key = false
	if c.value, err = serde.Bind(v, at); err != nil {
		d.t.Fatalf("streamtest: value of %q: %v", topic, err)
	}
	return c
}

// encode is what a producer would send; nil is a null.
func (c *codec[K, V]) encode(r *stream.Record[K, V]) (key, value []byte, err error) {
	if !r.NoKey {
		if key, err = encoded(c.key, r.Key); err != nil {
			return nil, nil, fmt.Errorf("key: %w", err)
		}
		if _, keyless := c.key.(serde.Keyless); keyless {
			key = nil
		}
	}
	if !r.Deleted {
		if value, err = encoded(c.value, r.Value); err != nil {
			return nil, nil, fmt.Errorf("value: %w", err)
		}
	}
	return key, value, nil
}

func encoded[T any](s serde.Serde[T], v T) ([]byte, error) {
	if n, ok := s.(serde.Nullable[T]); ok && n.IsNull(v) {
		return nil, nil
	}
	return s.Append([]byte{}, v)
}

// decode is the inverse of encode.
func (c *codec[K, V]) decode(w *wire.Record) (r stream.Record[K, V], err error) {
	r.Time = time.UnixMilli(w.Time).UTC()
	r.NoKey, r.Deleted = w.Key == nil, w.Value == nil
	for _, h := range w.Headers {
		r.Headers = append(r.Headers, connector.Header{Key: h.Key, Value: append([]byte(nil), h.Value...)})
	}
	if !r.NoKey {
		if r.Key, err = c.key.Decode(w.Key); err != nil {
			return r, fmt.Errorf("key %q: %w", w.Key, err)
		}
	}
	switch n, ok := c.value.(serde.Nullable[V]); {
	case !r.Deleted:
		if r.Value, err = c.value.Decode(w.Value); err != nil {
			return r, fmt.Errorf("value %q: %w", w.Value, err)
		}
	case ok:
		r.Value, r.Deleted = n.Null(), false
	}
	return r, nil
}
