package relay

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/weirstream/weir/internal/wire"
)

// An Outbox is where the tasks of a process write what is for a far cluster. Its methods may be called at once.
type Outbox struct {
	Topic string
	far   *Far
	mu    struct {
		sync.Mutex
		known map[string]*wire.Topic // on the far cluster, by what was last heard of them
	}
}

// NewOutbox is the outbox of this topic for what is on far.
func NewOutbox(topic string, far *Far) *Outbox {
	o := &Outbox{Topic: topic, far: far}
	o.mu.known = map[string]*wire.Topic{}
	return o
}

// markKey is the last header of a record in an outbox: where it is for. A relay takes it away.
const markKey = "weir.to"

// mark is its value: a version, the partition, the topic.
func mark(topic string, partition int32) []byte {
	return append(binary.AppendUvarint([]byte{1}, uint64(partition)), topic...)
}

// destination reads the mark.
func destination(r *wire.Record) (topic string, partition int32, err error) {
	if n := len(r.Headers); n > 0 && r.Headers[n-1].Key == markKey {
		v := r.Headers[n-1].Value
		if len(v) > 1 && v[0] == 1 {
			if p, size := binary.Uvarint(v[1:]); size > 0 && p < 1<<31 {
				return string(v[1+size:]), int32(p), nil
			}
		}
	}
	return "", 0, errors.New("it does not say where it is for: something else than weir has written to the outbox")
}

const (
	headerOverhead = 10  // what a header takes in a record beside key and value, at most
	batchOverhead  = 128 // what a batch of one record takes beside it
	defaultMost    = 1048588
)

// sizeOf is what a record counts against the limit of a topic.
func sizeOf(r *wire.Record, headers []wire.Header) int {
	size := len(r.Key) + len(r.Value)
	for _, h := range headers {
		size += headerOverhead + len(h.Key) + len(h.Value)
	}
	return size
}

// Appender is what a sink on the far cluster appends to: it writes to a partition of the outbox, in its own transaction. tell is called with
// what is to be kept of a topic for when the far cluster is down; Learn takes it.
func (o *Outbox) Appender(near wire.Out, partition int32, tell func(topic string, facts []byte)) wire.Appender {
	return &appender{o, near, partition, tell}
}

type appender struct {
	o         *Outbox
	near      wire.Out
	partition int32
	tell      func(topic string, facts []byte)
}

// To is described at wire.Appender.
func (a *appender) To(ctx context.Context, topic string) (wire.Out, error) {
	t, news, err := a.o.describe(ctx, topic)
	if err != nil {
		return nil, err
	}
	if news {
		a.tell(topic, factsOf(t))
	}
	most := defaultMost
	if n, err := strconv.Atoi(t.Configs["max.message.bytes"]); err == nil {
		most = n
	}
	most = min(most-batchOverhead, a.near.MaxBytes()-headerOverhead-len(markKey)-len(mark(topic, 1<<30)))
	out := &out{a: a, said: *t, max: max(0, most)}
	for p := range t.Partitions {
		out.marks = append(out.marks, mark(topic, p))
	}
	return out, nil
}

// Cut and Close are the task's own appender's to do.
func (a *appender) Cut(uint64) {}
func (a *appender) Close()     {}

// An out appends records for one topic.
type out struct {
	a       *appender
	said    wire.Topic
	marks   [][]byte // by partition
	max     int
	headers []wire.Header
}

// Partitions, Topic, MaxBytes and Append are described at wire.Out.
func (o *out) Partitions() int32 { return int32(len(o.marks)) }
func (o *out) Topic() wire.Topic { return o.said }
func (o *out) MaxBytes() int     { return o.max }
func (o *out) Append(partition int32, time int64, key, value []byte, headers []wire.Header) {
	o.headers = append(append(o.headers[:0], headers...), wire.Header{Key: markKey, Value: o.marks[partition]})
	o.a.near.Append(o.a.partition, time, key, value, o.headers)
}

// describe is what is known of a topic: by the far cluster when it answers, else by what it said before. news: nobody has kept it yet.
func (o *Outbox) describe(ctx context.Context, topic string) (t *wire.Topic, news bool, err error) {
	old := o.knows(topic)
	found, err := o.far.topics(ctx, old != nil, topic)
	if err != nil {
		if old != nil {
			return old, false, nil
		}
		return nil, false, fmt.Errorf("the other cluster: %w", err)
	}
	got, ok := found[topic]
	if !ok {
		return nil, false, fmt.Errorf("topic %q on the other cluster: %w", topic, wire.ErrNoTopic)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.known[topic] = &got
	return &got, old == nil || old.Partitions != got.Partitions || !maps.Equal(kept(old), kept(&got)), nil
}

func (o *Outbox) knows(topic string) *wire.Topic {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.known[topic]
}

// The settings that a sink looks at.
func kept(t *wire.Topic) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"max.message.bytes", "message.timestamp.type", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"} {
		if v, ok := t.Configs[name]; ok {
			out[name] = v
		}
	}
	return out
}

// facts are what is kept of a topic.
type facts struct {
	Version    int               `json:"version"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs"`
}

func factsOf(t *wire.Topic) []byte {
	b, _ := json.Marshal(facts{1, t.Partitions, kept(t)}) // strings and numbers always encode
	return b
}

// Learn takes what was kept of a topic. What cannot be read is as if it had not been kept.
func (o *Outbox) Learn(topic string, kept []byte) {
	var f facts
	if err := json.Unmarshal(kept, &f); err != nil || f.Version != 1 || f.Partitions <= 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.known[topic] == nil {
		o.mu.known[topic] = &wire.Topic{Name: topic, Partitions: f.Partitions, Configs: f.Configs}
	}
}
