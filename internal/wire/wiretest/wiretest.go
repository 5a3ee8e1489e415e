// Package wiretest is the kit that every implementation of package wire passes: what it says about one cluster it says about all.
//
// A test never sleeps and never asserts how long something took; whatever may take a while is waited for, and limit ends what never
// comes. Topics, groups and transactional ids have names of their own in each test, so that the kit may run on a cluster that has
// other users and other tests.
package wiretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A Cluster is what the kit runs on.
type Cluster struct {
	// Connect opens a connection. The kit closes it, and makes several to the same cluster.
	Connect func(t *testing.T) wire.Log
	// Run makes names unique among the runs on a cluster that outlives them. Default "".
	Run string
	// Lenient says that the cluster accepts what others refuse: settings, timestamps, long metadata. The embedded Kafka does.
	Lenient bool
	// NoGroups leaves out what needs memberships, while they are being built.
	NoGroups bool
}

// strict skips a test of refusals on a lenient cluster.
func (c Cluster) strict(t *testing.T) {
	if c.Lenient {
		t.Skip("this cluster refuses less than a real one; the real one's run has this test")
	}
}

// limit ends a test that would wait for ever.
const limit = 30 * time.Second

// Run runs the kit.
func Run(t *testing.T, c Cluster) {
	for _, part := range []struct {
		name string
		run  func(t *testing.T, c Cluster)
	}{
		{"Admin", testAdmin},
		{"Write", testWrite},
		{"Read", testRead},
		{"Offsets", testOffsets},
		{"Group", testGroup},
		{"Transactions", testTransactions},
	} {
		if c.NoGroups && (part.name == "Group" || part.name == "Transactions") {
			continue
		}
		t.Run(part.name, func(t *testing.T) { part.run(t, c) })
	}
}

// A kit is one test's place on the cluster.
type kit struct {
	*testing.T
	c    Cluster
	ctx  context.Context
	log  wire.Log
	name string // the prefix of everything it makes
}

var made atomic.Int64

// start connects for one test.
func (c Cluster) start(t *testing.T) *kit {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	k := &kit{T: t, c: c, ctx: ctx, name: fmt.Sprintf("kit%s-%d", c.Run, made.Add(1))}
	k.log = k.connect()
	return k
}

// connect opens another connection.
func (k *kit) connect() wire.Log {
	k.Helper()
	l := k.c.Connect(k.T)
	k.Cleanup(func() {
		if err := l.Close(); err != nil {
			k.Errorf("close connection: %v", err)
		}
	})
	return l
}

// topic makes a topic; settings are "name=value".
func (k *kit) topic(suffix string, partitions int32, settings ...string) string {
	k.Helper()
	spec := wire.TopicSpec{Name: k.name + "-" + suffix, Partitions: partitions, Configs: map[string]string{}}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		spec.Configs[name] = value
	}
	k.must(k.log.Create(k.ctx, spec))
	return spec.Name
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// is fails unless err is want.
func (k *kit) is(err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Fatalf("error is %v, want %v", err, want)
	}
}

// at names a partition.
func at(topic string, partition int32) wire.TopicPartition {
	return wire.TopicPartition{Topic: topic, Partition: partition}
}

// write has a plain writer write values, one key each, to partition 0, as checkpoint 1 of one appender.
func (k *kit) write(topic string, values ...string) {
	k.Helper()
	w := k.writer(wire.WriterConfig{})
	a := k.appender(w, 1)
	o := k.out(a, topic)
	for i, v := range values {
		o.Append(0, k.now()+int64(i), []byte("k"+v), []byte(v), nil)
	}
	a.Cut(1)
	_, err := w.Flush(k.ctx, 1)
	k.must(err)
	a.Close()
}

func (k *kit) now() int64 { return k.log.Now().UnixMilli() }

func (k *kit) writer(how wire.WriterConfig) wire.Writer {
	k.Helper()
	w, err := k.log.Writer(k.ctx, how)
	k.must(err)
	k.Cleanup(func() { _ = w.Close() })
	return w
}

func (k *kit) appender(w wire.Writer, next uint64) wire.Appender {
	k.Helper()
	a, err := w.Appender("task", next)
	k.must(err)
	return a
}

func (k *kit) out(a wire.Appender, topic string) wire.Out {
	k.Helper()
	o, err := a.To(k.ctx, topic)
	k.must(err)
	return o
}

// reader opens partition 0.
func (k *kit) reader(topic string, from int64, how wire.ReadOptions) wire.Reader {
	k.Helper()
	r, err := k.log.Read(k.ctx, at(topic, 0), from, how)
	k.must(err)
	k.Cleanup(func() { _ = r.Close() })
	return r
}

// A got is a record that outlives its batch.
type got struct {
	offset     int64
	time       int64
	key, value string
	null       bool // the value is null
	headers    []wire.Header
}

// take reads until n records have come, and where reading goes on.
func (k *kit) take(r wire.Reader, n int) (records []got, next int64) {
	k.Helper()
	for len(records) < n {
		b, err := r.Next(k.ctx)
		if err != nil {
			k.Fatalf("after %d of %d records: %v", len(records), n, err)
		}
		records, next = append(records, keep(b)...), b.Next
		b.Release()
	}
	if len(records) > n {
		k.Fatalf("read %d records, want %d: %v", len(records), n, records)
	}
	return records, next
}

// until reads until reading would go on at or behind next.
func (k *kit) until(r wire.Reader, next int64) (records []got) {
	k.Helper()
	for {
		b, err := r.Next(k.ctx)
		if err != nil {
			k.Fatalf("after %d records, before offset %d: %v", len(records), next, err)
		}
		records = append(records, keep(b)...)
		done := b.Next >= next
		b.Release()
		if done {
			return records
		}
	}
}

// keep copies a batch's records.
func keep(b *wire.Batch) []got {
	var records []got
	for _, r := range b.Records {
		g := got{offset: r.Offset, time: r.Time, key: string(r.Key), value: string(r.Value), null: r.Value == nil}
		for _, h := range r.Headers {
			g.headers = append(g.headers, wire.Header{Key: h.Key, Value: append([]byte(nil), h.Value...)})
		}
		records = append(records, g)
	}
	return records
}

// values joins the values of records.
func values(records []got) string {
	var v []string
	for _, r := range records {
		v = append(v, r.value)
	}
	return strings.Join(v, " ")
}
