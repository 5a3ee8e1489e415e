package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestCounts(t *testing.T) {
	d := streamtest.New(t, onKafka(), streamtest.Partitions(3))
	lines, counts := d.In[struct{}, string]("lines"), d.Out[string, int64]("counts")
	lines.Send(struct{}{}, "To be or not to be")
	if got, want := streamtest.Rows(counts), (map[string]int64{"to": 2, "be": 2, "or": 1, "not": 1}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	lines.Send(struct{}{}, "be")
	d.Crash()
	if got, want := streamtest.Rows(counts), (map[string]int64{"be": 3}); !maps.Equal(got, want) {
		t.Errorf("after a crash: got %v, want %v", got, want)
	}
}

func TestStandardInput(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), inMemory(strings.NewReader("to be\nor not to be\n"), &out), stream.Config{State: state.InMemory()}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(out.String()), " ", "="))
	slices.Sort(lines)
	if got := strings.Join(slices.Compact(lines), " "); !strings.Contains(got, "be=2") || !strings.Contains(got, "to=2") {
		t.Errorf("got %s", got)
	}
}
