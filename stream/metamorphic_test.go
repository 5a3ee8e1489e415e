package stream_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// An event is a record of a generated input.
type event struct {
	key   string
	value int64
	at    int64 // ms
}

// disordered generates n events of some keys whose times rise by about step, each late by less than disorder.
func disordered(r *rand.Rand, n, keys int, step, disorder int64) []event {
	var events []event
	now := int64(1_000_000)
	for i := range n {
		now += r.Int64N(2*step + 1)
		e := event{fmt.Sprint("k", r.IntN(keys)), int64(i), now}
		if disorder > 0 {
			e.at -= r.Int64N(disorder)
		}
		events = append(events, e)
	}
	return events
}

func nothing[K, V any](func(stream.Record[K, V]) bool) {}

// source reads what a test sends to a name.
func source(b *stream.Builder, name string, opts ...stream.SourceOption) *stream.Stream[string, int64] {
	return b.Source(memory.From[string, int64](name, nothing[string, int64]), append(opts, stream.MaxFuture(-1))...)
}

// A setting is one way of running a topology. What comes out must not depend on it.
type setting struct {
	partitions int
	memory     int64 // 0: the default
	checkpoint int   // about every so many records
	crash      int   // about every so many records; 0: never
	kafka      bool  // exchanges are topics, and time passes so that watermarks cross them
	seed       uint64
}

func (s setting) String() string {
	return fmt.Sprintf("%d partitions, memory %d, checkpoint %d, crash %d, kafka %t, seed %d", s.partitions, s.memory, s.checkpoint, s.crash, s.kafka, s.seed)
}

// settings are the ways that every test of this kind takes.
func settings() []setting {
	return []setting{
		{partitions: 1, checkpoint: 1 << 30},
		{partitions: 2, checkpoint: 50, seed: 1},
		{partitions: 8, checkpoint: 7, seed: 2},
		{partitions: 1, checkpoint: 3, memory: 4 << 10, seed: 3},
		{partitions: 1, checkpoint: 20, crash: 40, seed: 4},
		{partitions: 2, checkpoint: 5, crash: 30, memory: 4 << 10, seed: 5},
		{partitions: 8, checkpoint: 25, crash: 60, seed: 6},
		{partitions: 1, checkpoint: 10, kafka: true, seed: 7},
		{partitions: 2, checkpoint: 7, crash: 40, memory: 4 << 10, kafka: true, seed: 8},
		{partitions: 8, checkpoint: 30, crash: 80, kafka: true, seed: 9},
	}
}

// run sends events to the sources they are for, in order, and returns what came out at "out".
func run[K, V any](t *testing.T, s setting, build func(b *stream.Builder), inputs map[string][]event) []stream.Record[K, V] {
	t.Helper()
	r := rand.New(rand.NewPCG(s.seed, 0))
	b := stream.New("meta")
	build(b)
	d := streamtest.New(t, b, streamtest.Partitions(s.partitions), streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) {
		c.MemoryBytes = s.memory
		if s.kafka {
			c.Exchange = stream.Kafka
		}
	}))
	ins := map[string]*streamtest.In[string, int64]{}
	type sent struct {
		event
		to string
	}
	var all []sent
	var names []string
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		ins[name] = d.In[string, int64](name)
		for _, e := range inputs[name] {
			all = append(all, sent{e, name})
		}
	}
	if len(names) > 1 {
		slices.SortStableFunc(all, func(a, b sent) int { return cmp.Compare(a.value, b.value) })
	}
	out := d.Out[K, V]("out")
	for _, e := range all {
		ins[e.to].SendAt(time.UnixMilli(e.at), e.key, e.value)
		if s.kafka && r.IntN(5) == 0 {
			d.Advance(time.Duration(r.IntN(700)) * time.Millisecond)
		}
		switch {
		case s.crash > 0 && r.IntN(s.crash) == 0:
			d.Crash()
		case r.IntN(s.checkpoint) == 0:
			d.Checkpoint()
		}
	}
	for _, name := range names {
		ins[name].End()
	}
	for range 4 { // what is held back until a checkpoint ends what is behind it one later
		d.Checkpoint()
	}
	if err := d.Err(); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return out.Read()
}

// lines prints records without what depends on where they were.
func lines[K, V any](records []stream.Record[K, V]) []string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d %v %v", r.Time.UnixMilli(), r.Key, r.Value))
	}
	slices.Sort(out)
	return out
}

// same runs a topology in every setting and compares with want.
func sameInAllSettings[K, V any](t *testing.T, want []string, build func(b *stream.Builder), inputs map[string][]event) {
	t.Helper()
	slices.Sort(want)
	for _, s := range settings() {
		got := lines(run[K, V](t, s, build, inputs))
		if !slices.Equal(got, want) {
			t.Fatalf("%v:\n%s", s, difference(got, want))
		}
	}
}

// difference shows the first lines that only one side has.
func difference(got, want []string) string {
	count := map[string]int{}
	for _, l := range want {
		count[l]++
	}
	for _, l := range got {
		count[l]--
	}
	var missing, extra []string
	for l, n := range count {
		switch {
		case n > 0:
			missing = append(missing, l)
		case n < 0:
			extra = append(extra, l)
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	return fmt.Sprintf("got %d, want %d; missing %d: %q; unexpected %d: %q", len(got), len(want),
		len(missing), missing[:min(8, len(missing))], len(extra), extra[:min(8, len(extra))])
}

// rowsOf is what a table's output amounts to in the end.
func rowsOf[K, V any](records []stream.Record[K, V]) []string {
	rows := map[string]string{}
	for _, r := range records {
		if k := fmt.Sprint(r.Key); r.Deleted {
			delete(rows, k)
		} else {
			rows[k] = fmt.Sprint(r.Value)
		}
	}
	var out []string
	for k, v := range rows {
		out = append(out, k+" "+v)
	}
	slices.Sort(out)
	return out
}

// untimed takes the times off lines.
func untimed(lines []string) []string {
	var out []string
	for _, l := range lines {
		_, l, _ = strings.Cut(l, " ")
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}
