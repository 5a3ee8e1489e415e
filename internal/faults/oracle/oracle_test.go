package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
)

// of are one partition's records: "key=value", "key" alone is a null.
func of(records ...string) oracle.Records {
	r := oracle.Records{}
	for i, text := range records {
		key, value, set := strings.Cut(text, "=")
		rec := wire.Record{Offset: int64(i), Key: []byte(key)}
		if set {
			rec.Value = []byte(value)
		}
		r[0] = append(r[0], rec)
	}
	return r
}

// says fails unless err mentions want; "" wants no error.
func says(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("finds nothing, want %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("finds %q, want %q", err, want)
	}
}

func TestCounts(t *testing.T) {
	want := map[string]int64{"a": 3, "b": 1}
	for name, c := range map[string]struct {
		records oracle.Records
		finds   string
	}{
		"right":     {of("a=1", "b=1", "a=2", "a=3"), ""},
		"twice":     {of("a=1", "b=1", "a=2", "a=2", "a=3"), `key "a" has 2 again`},
		"lost":      {of("a=1", "b=1", "a=3"), "1 lost"},
		"order":     {of("a=2", "a=1", "a=3", "b=1"), `key "a" has 1 again`},
		"short":     {of("a=1", "a=2", "b=1"), `key "a" ends with 2, want 3`},
		"none":      {of("a=1", "a=2", "a=3"), `key "b" ends with 0, want 1`},
		"too many":  {of("a=1", "a=2", "a=3", "a=4", "b=1"), `key "a" ends with 4`},
		"foreign":   {of("a=1", "a=2", "a=3", "b=1", "c=1"), `key "c" was never put in`},
		"no number": {of("a=1", "a=2", "a=3", "b=x"), `value "x"`},
	} {
		t.Run(name, func(t *testing.T) { says(t, oracle.Counts(c.records, want, oracle.Decimal), c.finds) })
	}
}

func TestOnce(t *testing.T) {
	want := []string{"1", "2"}
	says(t, oracle.Once(of("a=2", "a=1"), want), "")
	says(t, oracle.Once(of("a=1", "a=2", "a=1"), want), `"1" again`)
	says(t, oracle.Once(of("a=1"), want), `"2" is missing`)
	says(t, oracle.Once(of("a=1", "a=2", "a=3"), want), `"3" was never put in`)
}

func TestTable(t *testing.T) {
	got := oracle.Table(of("a=1", "b=1", "a=2", "b", "c=1"))
	says(t, oracle.Same(got, map[string]string{"a": "2", "c": "1"}), "")
	says(t, oracle.Same(got, map[string]string{"a": "1", "c": "1"}), `key "a" is "2", want "1"`)
	says(t, oracle.Same(got, map[string]string{"a": "2", "c": "1", "d": "1"}), `key "d" is missing`)
	says(t, oracle.Same(got, map[string]string{"a": "2"}), `key "c" is "1", want none`)
}

func TestManyFindingsAreCounted(t *testing.T) {
	err := oracle.Once(oracle.Records{}, strings.Split("abcdefghijklmnopqrstuvwxyz", ""))
	says(t, err, "and 16 more")
}

func TestReadsWhatIsCommitted(t *testing.T) {
	c := &memory.Cluster{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Poison: true}
	if err := c.Create("t", 2, nil); err != nil {
		t.Fatal(err)
	}
	now := c.Start.UnixMilli()
	header := []wire.Header{{Key: "h", Value: []byte("1")}}
	if _, err := c.Append("t", 1, wire.Record{Time: now, Key: []byte("a"), Value: []byte("1"), Headers: header}); err != nil {
		t.Fatal(err)
	}
	l, err := c.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
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
	o.Append(1, now, []byte("a"), []byte("2"), nil)
	a.Cut(1)
	if _, err := tx.Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	read := func() oracle.Records {
		r, err := oracle.Read(t.Context(), l, "t")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := read(); len(r[0]) != 0 || len(r[1]) != 1 || string(r[1][0].Value) != "1" || string(r[1][0].Headers[0].Value) != "1" {
		t.Errorf("read %v with a transaction open", r)
	}
	says(t, oracle.NothingOpen(t.Context(), l, "x-"), "x-1 is open")
	says(t, oracle.NothingOpen(t.Context(), l, "y-"), "")
	at := wire.TopicPartition{Topic: "t", Partition: 1}
	m, err := l.Join(t.Context(), wire.GroupConfig{Group: "g", Plan: func([]wire.Member) map[string]wire.Assignment { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	who := m.Identity()
	if err := tx.Commit(t.Context(), 1, who, []wire.Position{{TopicPartition: at, Committed: wire.Committed{Offset: 2}}}); err != nil {
		t.Fatal(err)
	}
	if r := read(); len(r[1]) != 2 {
		t.Errorf("read %v of what is committed", r)
	}
	says(t, oracle.NothingOpen(t.Context(), l, "x-"), "")
	says(t, oracle.NoLag(t.Context(), l, "g", "t"), "is at 2 of topic t partition 1, which ends at 3")
	if err := l.CommitPlain(t.Context(), who, []wire.Position{{TopicPartition: at, Committed: wire.Committed{Offset: 3}}}); err != nil {
		t.Fatal(err)
	}
	says(t, oracle.NoLag(t.Context(), l, "g", "t"), "")
	if _, err := oracle.Read(t.Context(), l, "missing"); err == nil {
		t.Error("a missing topic is read")
	}
}
