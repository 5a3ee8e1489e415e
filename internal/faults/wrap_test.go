package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/internal/wire/wiretest"
)

var pass = faults.JudgeFunc(func(faults.Request) faults.Fate { return faults.Fate{} })

// Where nothing goes wrong, nothing is different.
func TestWrapPassesTheKit(t *testing.T) {
	c := &memory.Cluster{}
	wiretest.Run(t, wiretest.Cluster{Connect: func(t *testing.T) wire.Log { return faults.Wrap(connect(t, c), pass) }})
}

func connect(t *testing.T, c *memory.Cluster) wire.Log {
	t.Helper()
	l, err := c.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wrapped is a log under a script, with a transaction of one record cut and flushed.
func wrapped(t *testing.T, script string) (*faults.Log, wire.Transactions, *memory.Cluster) {
	t.Helper()
	c, err := newCluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := faults.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	l := faults.Wrap(connect(t, c), s.Judge())
	t.Cleanup(func() { _ = l.Close() })
	tx, err := l.Transactions(t.Context(), wire.TxConfig{IDs: [2]string{"x-0", "x-1"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Close() })
	a, err := tx.Appender("task", 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.To(t.Context(), "out")
	if err != nil {
		t.Fatal(err)
	}
	o.Append(0, c.Start.UnixMilli(), []byte("k"), []byte("v"), nil)
	a.Cut(1)
	if _, err := tx.Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return l, tx, c
}

// member is a seat in group g.
func member(t *testing.T, c *memory.Cluster) wire.Identity {
	t.Helper()
	m, err := connect(t, c).Join(t.Context(), wire.GroupConfig{Group: "g", Instance: "i", Plan: func([]wire.Member) map[string]wire.Assignment { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return m.Identity()
}

func TestWrapLosesCommits(t *testing.T) {
	for script, want := range map[string]struct {
		err     error
		visible int
		killed  bool
	}{
		"endtxn 2 lose":              {nil, 1, false},
		"endtxn 1 drop":              {wire.ErrUnknownOutcome, 0, false},
		"endtxn 1 lose":              {wire.ErrUnknownOutcome, 1, false},
		"endtxn 1 kill":              {wire.ErrUnknownOutcome, 0, true},
		"endtxn 1 killdone":          {wire.ErrUnknownOutcome, 1, true},
		"endtxn 1 refuse=generation": {wire.ErrGeneration, 0, false},
	} {
		t.Run(script, func(t *testing.T) {
			l, tx, c := wrapped(t, script)
			err := tx.Commit(t.Context(), 1, member(t, c), []wire.Position{{TopicPartition: input}})
			if !errors.Is(err, want.err) {
				t.Errorf("commit: %v, want %v", err, want.err)
			}
			if seen, _, _ := c.Records("out", 0, 0); len(seen) != want.visible {
				t.Errorf("%d records can be seen, want %d", len(seen), want.visible)
			}
			if !want.killed {
				return
			}
			<-l.Killed()
			<-tx.Failed()
			if _, err := l.Topics(t.Context(), "out"); !errors.Is(err, faults.ErrKilled) {
				t.Errorf("a killed log answers: %v", err)
			}
			if err := tx.Err(); !errors.Is(err, faults.ErrKilled) {
				t.Errorf("a killed writer's error is %v", err)
			}
		})
	}
}

func TestWrapRefusesWhatABrokerDoes(t *testing.T) {
	l, tx, c := wrapped(t, "")
	at := []wire.Position{{TopicPartition: input, Committed: wire.Committed{Offset: 1, Metadata: strings.Repeat("m", 4097)}}}
	who := wire.Identity{Group: "g", Generation: -1}
	if err := l.CommitPlain(t.Context(), who, at); !errors.Is(err, wire.ErrRefused) {
		t.Errorf("plain commit: %v, want ErrRefused", err)
	}
	if err := tx.Commit(t.Context(), 1, who, at); !errors.Is(err, wire.ErrRefused) {
		t.Errorf("commit: %v, want ErrRefused", err)
	}
	a, err := tx.Appender("late", 2)
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.To(t.Context(), "out")
	if err != nil {
		t.Fatal(err)
	}
	o.Append(0, c.Start.Add(2*time.Hour).UnixMilli(), nil, nil, nil)
	<-tx.Failed()
	if err := tx.Err(); !errors.Is(err, wire.ErrRefused) {
		t.Errorf("writer: %v, want ErrRefused", err)
	}
}

// A batch whose answer was lost was never read: the next one has it.
func TestWrapLosesNoRecords(t *testing.T) {
	c, err := newCluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := faults.Script{{Kind: faults.Fetch, K: 1}: {Lose: true}, {Kind: faults.Fetch, K: 2}: {Drop: true}}
	l := faults.Wrap(connect(t, c), s.Judge())
	defer l.Close()
	r, err := l.Read(t.Context(), input, 0, wire.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if _, err := r.Next(t.Context()); !errors.Is(err, faults.ErrLost) {
			t.Fatalf("fetch: %v, want ErrLost", err)
		}
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Records[0].Offset != 0 || len(b.Records) != records {
		t.Errorf("read %d records from offset %d", len(b.Records), b.Records[0].Offset)
	}
}

// A killed process is silent in its group, and given up when its session is over.
func TestWrapKillsMembers(t *testing.T) {
	c, err := newCluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	join := func(l wire.Log) wire.Membership {
		m, err := l.Join(context.Background(), wire.GroupConfig{
			Group: "g", SessionTimeout: 10 * time.Second,
			Plan: func(m []wire.Member) map[string]wire.Assignment {
				return map[string]wire.Assignment{m[0].ID: {Partitions: []wire.TopicPartition{input}}}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first, second := faults.Wrap(connect(t, c), pass), faults.Wrap(connect(t, c), pass)
	defer second.Close()
	killed, lives := join(first), join(second)
	first.Kill()
	for open := true; open; { // its events end
		_, open = <-killed.Events()
	}
	c.Advance(10 * time.Second)
	held := 0
	for held == 0 {
		held = len((<-lives.Events()).Assigned.Partitions)
	}
}
