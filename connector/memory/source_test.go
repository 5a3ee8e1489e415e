package memory_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
)

type record = connector.Record[string, int]

// drain reads a partition to its end, and checks that reading on from every position yields the rest.
func drain(t *testing.T, s connector.Source[string, int], partition int, from connector.Position) (records []record, positions []connector.Position) {
	t.Helper()
	r, err := s.Open(t.Context(), connector.Env{}, partition, from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return records, positions
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			var rec record
			if err := b.Decode(i, &rec); err != nil {
				t.Fatal(err)
			}
			records, positions = append(records, rec), append(positions, b.Position(i))
		}
		if b.End() != positions[len(positions)-1] {
			t.Fatalf("End is %q, the last position %q", b.End(), positions[len(positions)-1])
		}
		b.Release()
	}
}

func testReplay(t *testing.T, s connector.Source[string, int], partition, n int) {
	all, positions := drain(t, s, partition, "")
	if len(all) != n {
		t.Fatalf("read %d records, want %d", len(all), n)
	}
	for _, i := range []int{0, 1, n / 2, n - 1} {
		rest, _ := drain(t, s, partition, positions[i])
		same := slices.EqualFunc(rest, all[i+1:], func(a, b record) bool {
			return a.Key == b.Key && a.Value == b.Value && a.Time.Equal(b.Time) && a.Origin == b.Origin
		})
		if !same {
			t.Fatalf("from %q came %d records, want the last %d", positions[i], len(rest), n-i-1)
		}
	}
}

func TestFromReplays(t *testing.T) {
	s := memory.From("numbers", func(yield func(record) bool) {
		for i := range 1000 {
			if !yield(record{Key: fmt.Sprint(i), Value: i, Time: epoch.Add(time.Duration(i) * time.Second)}) {
				return
			}
		}
	})
	testReplay(t, s, 0, 1000)
	for _, bad := range []connector.Position{"x", "-1", "1001"} {
		if _, err := s.Open(t.Context(), connector.Env{}, 0, bad); err == nil {
			t.Errorf("position %q is accepted", bad)
		}
	}
}

func TestGenerateReplays(t *testing.T) {
	s := memory.Generate("numbers", 2, 1300, func(partition int, i int64, r *record) {
		r.Key, r.Value, r.Time = fmt.Sprint(partition), int(i), epoch
	})
	for partition := range 2 {
		testReplay(t, s, partition, 1300)
	}
}

func TestCollectorKeepsWhatIsCommitted(t *testing.T) {
	c := memory.Collect[string, int]("out")
	env, task := connector.Env{App: "app"}, connector.Task{Name: "t", Partition: 1}
	ctx := t.Context()
	prepare := func(w connector.TxWriter[string, int], n uint64, v int) connector.Handle {
		if err := w.Write(&record{Value: v}); err != nil {
			t.Fatal(err)
		}
		h, err := w.Prepare(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	w, _ := c.OpenTx(ctx, env, task)
	first := prepare(w, 1, 1)
	if len(c.Records()) != 0 {
		t.Fatal("what is prepared can be seen")
	}
	for range 2 {
		if err := c.Commit(ctx, env, first); err != nil {
			t.Fatal(err)
		}
	}
	second, lost := prepare(w, 2, 2), prepare(w, 3, 3)
	if err := c.Recover(ctx, env, task, []connector.Handle{second}); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, env, lost); !errors.Is(err, connector.ErrLost) {
		t.Errorf("committing what was dropped: %v, want ErrLost", err)
	}
	w, _ = c.OpenTx(ctx, env, task)
	if again := prepare(w, 2, 4); string(again) == string(second) {
		t.Errorf("handle %q comes twice", again)
	}
	got := c.Records()
	if len(got) != 2 || got[0].Value != 1 || got[1].Value != 2 || c.Prepared() != 1 {
		t.Errorf("committed %v, %d prepared", got, c.Prepared())
	}
}
