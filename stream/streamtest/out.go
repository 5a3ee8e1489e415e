package streamtest

import (
	"reflect"
	"strings"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

// An Out reads an output topic as a read_committed consumer would.
type Out[K, V any] struct {
	d       *Driver
	topic   string
	cluster *memory.Cluster // nil: all
	next    []int64         // offset, by partition
	codec   *codec[K, V]
	all     *memory.Collector[K, V]
	read    int // of all
}

// Out is the typed end of an output topic, from its start. A topic that no sink is named after is taken for one that a Route picks,
// and read as the first sink of these types writes. A sink that is not a topic is collected from instead of writing: ask before the
// app has started.
func (d *Driver) Out[K, V any](topic string) *Out[K, V] {
	d.t.Helper()
	e := sinkOf[K, V](d, topic)
	on, isTopic := isTopic(e)
	o := &Out[K, V]{d: d, topic: topic}
	if !isTopic {
		o.all = replaced(d, e, func() *memory.Collector[K, V] { return memory.Collect[K, V](e.Name) })
		return o
	}
	o.cluster = d.world.on(on)
	o.codec = codecOf[K, V](d, e, topic)
	return o
}

// sinkOf finds who writes a topic: a sink of its name, of these types if there are several; else any of these types.
func sinkOf[K, V any](d *Driver, topic string) *stream.End {
	d.t.Helper()
	var named, typed *stream.End
	var names []string
	for _, e := range d.ends {
		if e.Source {
			continue
		}
		names = append(names, e.Name)
		_, fits := e.Connector.(connector.Sink[K, V])
		_, inCluster := isTopic(e)
		switch {
		case e.Name == topic && fits:
			return e
		case e.Name == topic:
			named = e
		case fits && inCluster && typed == nil:
			typed = e
		}
	}
	switch {
	case named != nil:
		d.t.Fatalf("streamtest: %q is a %v, which does not carry %v and %v", topic, reflect.TypeOf(named.Connector), reflect.TypeFor[K](), reflect.TypeFor[V]())
	case typed == nil:
		d.t.Fatalf("streamtest: no sink writes %q, and none is of %v and %v. The sinks are: %s",
			topic, reflect.TypeFor[K](), reflect.TypeFor[V](), strings.Join(names, ", "))
	}
	return typed
}

// Read returns what was committed since the last Read, deletions among it. Each partition's records are in their order, and of
// several partitions the earliest record comes first.
func (o *Out[K, V]) Read() []stream.Record[K, V] {
	o.d.t.Helper()
	o.d.poll()
	if !o.d.how.manual {
		o.d.Checkpoint()
	}
	if o.all != nil {
		records := o.all.Records()[o.read:]
		o.read += len(records)
		return records
	}
	var parts [][]stream.Record[K, V]
	for p := range o.d.world.partitions(o.cluster, o.topic) {
		parts = append(parts, o.part(int32(p)))
	}
	return merged(parts)
}

// part reads one partition.
func (o *Out[K, V]) part(p int32) []stream.Record[K, V] {
	o.d.t.Helper()
	for len(o.next) <= int(p) {
		o.next = append(o.next, 0)
	}
	found, next, err := o.cluster.Records(o.topic, p, o.next[p])
	if err != nil {
		o.d.t.Fatalf("streamtest: Out(%q): %v", o.topic, err)
	}
	o.next[p] = next
	var out []stream.Record[K, V]
	for i := range found {
		r, err := o.codec.decode(&found[i])
		if err != nil {
			o.d.t.Fatalf("streamtest: Out(%q): partition %d offset %d: %v", o.topic, p, found[i].Offset, err)
		}
		r.Origin = connector.Origin{Topic: o.topic, Partition: p, Offset: found[i].Offset}
		out = append(out, r)
	}
	return out
}

// merged takes the earliest head of the parts again and again.
func merged[K, V any](parts [][]stream.Record[K, V]) (out []stream.Record[K, V]) {
	for {
		first := -1
		for i, p := range parts {
			if len(p) > 0 && (first < 0 || p[0].Time.Before(parts[first][0].Time)) {
				first = i
			}
		}
		if first < 0 {
			return out
		}
		out = append(out, parts[first][0])
		parts[first] = parts[first][1:]
	}
}

// Rows is Read as the table it amounts to: the last value of each key, without those that were deleted last. Records without a key
// are no rows.
func Rows[K comparable, V any](o *Out[K, V]) map[K]V {
	o.d.t.Helper()
	rows := map[K]V{}
	for _, r := range o.Read() {
		switch {
		case r.NoKey:
		case r.Deleted:
			delete(rows, r.Key)
		default:
			rows[r.Key] = r.Value
		}
	}
	return rows
}

// A stand takes the place of a connector that is not a topic.
type stand any

// replaced puts a stand in the place of a connector, or returns the one that is there.
func replaced[S any](d *Driver, e *stream.End, make func() *S) *S {
	d.t.Helper()
	if s, ok := d.stands[e.Name].(*S); ok {
		return s
	}
	if d.run != nil || d.err != nil {
		d.t.Fatalf("streamtest: %q is not a topic: ask for its In or Out before the app has started, that is before anything is sent or read", e.Name)
	}
	s := make()
	if err := e.Replace(s); err != nil {
		d.t.Fatalf("streamtest: %v", err)
	}
	d.stands[e.Name] = s
	return s
}

var (
	_ connector.TwoPhaseSink[int, int] = (*memory.Collector[int, int])(nil)
	_ connector.Source[int, int]       = (*feed[int, int])(nil)
)
