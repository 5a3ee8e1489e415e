package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
)

// rec is a record at a time after epoch; value "" is a null.
func rec(after time.Duration, key, value string) wire.Record {
	r := wire.Record{Time: epoch.Add(after).UnixMilli(), Key: []byte(key)}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

func withTopic(t *testing.T, configs map[string]string, records ...wire.Record) *memory.Cluster {
	t.Helper()
	c := &memory.Cluster{Start: epoch}
	if err := c.Create("t", 1, configs); err != nil {
		t.Fatal(err)
	}
	add(t, c, records...)
	return c
}

func add(t *testing.T, c *memory.Cluster, records ...wire.Record) {
	t.Helper()
	if _, err := c.Append("t", 0, records...); err != nil {
		t.Fatal(err)
	}
}

// content prints what readers see, as offset:key=value.
func content(t *testing.T, c *memory.Cluster) string {
	t.Helper()
	records, next, err := c.Records("t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range records {
		text += fmt.Sprintf("%d:%s=%s ", r.Offset, r.Key, r.Value)
	}
	return text + fmt.Sprintf("end %d", next)
}

func expect(t *testing.T, c *memory.Cluster, want string) {
	t.Helper()
	if got := content(t, c); got != want {
		t.Errorf("topic has %q, want %q", got, want)
	}
}

// What retention looks at is the records' time: events of 2013 are deleted unread, as a broker does within minutes.
func TestRetentionGoesByEventTime(t *testing.T) {
	old := epoch.AddDate(-13, 0, 0).Sub(epoch)
	c := withTopic(t, nil, rec(old, "a", "1"))
	add(t, c, rec(0, "b", "2"))
	expect(t, c, "0:a=1 1:b=2 end 2") // one batch: its latest time counts
	c = withTopic(t, nil, rec(old, "a", "1"))
	c.Retain()
	expect(t, c, "end 1")
	add(t, c, rec(0, "b", "2"))
	c.Retain()
	expect(t, c, "1:b=2 end 2")

	forever := withTopic(t, map[string]string{"retention.ms": "-1"}, rec(old, "a", "1"))
	forever.Retain()
	expect(t, forever, "0:a=1 end 1")
}

func TestRetentionBySize(t *testing.T) {
	c := &memory.Cluster{Start: epoch}
	if err := c.Create("t", 1, map[string]string{"retention.bytes": "4", "cleanup.policy": "delete"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		writeTx(t, c, fmt.Sprint(i)) // a batch of its own each
	}
	c.Retain()
	// 3 batches of 2 bytes and their markers: the first is not needed to have 4 bytes.
	expect(t, c, "2:k=1 4:k=2 end 6")
}

// somewhere is a position for commits that need one.
var somewhere = []wire.Position{{TopicPartition: wire.TopicPartition{Topic: "t"}}}

// writeTx writes one value to t in a transaction.
func writeTx(t *testing.T, c *memory.Cluster, value string) {
	t.Helper()
	l := connect(t, c)
	tx, err := l.Transactions(t.Context(), wire.TxConfig{IDs: [2]string{"x-0", "x-1"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a, err := tx.Appender("task", 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.To(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	o.Append(0, epoch.UnixMilli(), []byte("k"), []byte(value), nil)
	a.Cut(1)
	if _, err := tx.Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context(), 1, soleMember(t, l).Identity(), somewhere); err != nil {
		t.Fatal(err)
	}
}

func TestCompaction(t *testing.T) {
	c := withTopic(t, map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "60000"},
		rec(0, "a", "1"), rec(0, "b", "1"), rec(0, "a", "2"), rec(0, "b", ""))
	c.Compact()
	expect(t, c, "2:a=2 3:b= end 4") // the tombstone stays for those who read on
	c.Advance(59 * time.Second)
	c.Compact()
	expect(t, c, "2:a=2 3:b= end 4")
	c.Advance(time.Second)
	c.Compact()
	expect(t, c, "2:a=2 end 4") // offsets stay: the tail is compacted away
	add(t, c, rec(0, "c", "1"))
	expect(t, c, "2:a=2 4:c=1 end 5")
}

func TestCompactionStopsAtTheStableOffset(t *testing.T) {
	c := withTopic(t, map[string]string{"cleanup.policy": "compact"}, rec(0, "k", "0"))
	c.HoldMarkers()
	writeTx(t, c, "1")
	add(t, c, rec(0, "k", "2"))
	c.Compact()
	expect(t, c, "0:k=0 end 1")
	c.Settle()
	expect(t, c, "0:k=0 1:k=1 2:k=2 end 4")
	c.Compact()
	expect(t, c, "2:k=2 end 4")
}

// A batch that was read stays what it was, whatever happens to the log.
func TestBatchesOutliveTheLog(t *testing.T) {
	c := withTopic(t, map[string]string{"cleanup.policy": "compact,delete"}, rec(0, "a", "1"), rec(0, "a", "2"))
	r, err := connect(t, c).Read(t.Context(), wire.TopicPartition{Topic: "t"}, 0, wire.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Compact()
	add(t, c, rec(0, "a", "3"))
	c.Advance(30 * 24 * time.Hour)
	c.Retain()
	expect(t, c, "end 3")
	if len(b.Records) != 2 || string(b.Records[0].Value) != "1" || string(b.Records[1].Value) != "2" {
		t.Errorf("the batch has become %v", b.Records)
	}
	if _, err := r.Next(t.Context()); !errors.Is(err, wire.ErrOffsetGone) {
		t.Errorf("reading on where retention has been: %v, want ErrOffsetGone", err)
	}
}

func TestTopicMadeAgainIsAnother(t *testing.T) {
	c := withTopic(t, nil, rec(0, "a", "1"))
	l := connect(t, c)
	before, err := l.Topics(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Read(t.Context(), wire.TopicPartition{Topic: "t"}, 0, wire.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Delete("t")
	if _, err := r.Next(t.Context()); !errors.Is(err, wire.ErrNoTopic) {
		t.Errorf("reading a deleted topic: %v, want ErrNoTopic", err)
	}
	if err := c.Create("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	after, err := l.Topics(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if before["t"].ID == after["t"].ID {
		t.Errorf("both ids are %q", after["t"].ID)
	}
	expect(t, c, "end 0")
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		configs map[string]string
		record  wire.Record
	}{
		"ahead":           {nil, rec(61*time.Minute, "k", "v")},
		"behind":          {map[string]string{"message.timestamp.before.max.ms": "1000"}, rec(-2*time.Second, "k", "v")},
		"large":           {map[string]string{"max.message.bytes": "200"}, rec(0, "k", string(make([]byte, 200)))},
		"compact and key": {map[string]string{"cleanup.policy": "compact"}, wire.Record{Time: epoch.UnixMilli(), Value: []byte("v")}},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := withTopic(t, c.configs)
			if _, err := c2.Append("t", 0, c.record); !errors.Is(err, wire.ErrRefused) {
				t.Errorf("append: %v, want ErrRefused", err)
			}
		})
	}
}

func TestLogAppendTime(t *testing.T) {
	c := withTopic(t, map[string]string{"message.timestamp.type": "LogAppendTime"})
	c.Advance(time.Hour)
	add(t, c, rec(0, "k", "v"))
	records, _, err := c.Records("t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := records[0].Time, epoch.Add(time.Hour).UnixMilli(); got != want {
		t.Errorf("time is %d, want the cluster's %d", got, want)
	}
}

func TestAutoCreate(t *testing.T) {
	c := &memory.Cluster{Start: epoch, AutoCreate: 3}
	found, err := connect(t, c).Topics(t.Context(), "t", "__internal")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found["t"].Partitions != 3 || c.Topics()["t"] != 3 {
		t.Errorf("found %v, topics %v", found, c.Topics())
	}
}

func TestGrowAndConfigure(t *testing.T) {
	c := withTopic(t, nil)
	if err := c.Grow("t", 2); err != nil {
		t.Fatal(err)
	}
	if err := c.Configure("t", map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []map[string]string{{"cleanup.policy": "shred"}, {"retention.ms": "soon"}, {"no.such.setting": "1"}} {
		if err := c.Configure("t", bad); !errors.Is(err, wire.ErrRefused) {
			t.Errorf("%v: %v, want ErrRefused", bad, err)
		}
	}
	found, err := connect(t, c).Topics(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if topic := found["t"]; topic.Partitions != 2 || topic.Configs["cleanup.policy"] != "compact" || topic.Configs["retention.ms"] != "604800000" {
		t.Errorf("topic is %+v", topic)
	}
}
