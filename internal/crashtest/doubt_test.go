package crashtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// A doubtful is a world of one partition in which a plain commit goes without an answer when that is asked for. What was sent is carried out when the
// cluster settles.
type doubtful struct {
	*world
	t     *testing.T
	lose  int  // so many plain commits get no answer: the first of them is carried out late, the others never
	asked int  // rounds of the group
	quiet bool // the group holds none
	begun int  // partitions that were added to transactions
	seat  wire.Membership
	late  bool
}

func newDoubtful(t *testing.T, s scenario, input ...string) *doubtful {
	t.Helper()
	d := &doubtful{t: t}
	s.partitions, s.input = 1, []given{}
	for _, in := range input { // topic:value
		topic, v, _ := strings.Cut(in, ":")
		s.input = append(s.input, given{wire.TopicPartition{Topic: topic}, wire.Record{Time: eventTime.UnixMilli(), Key: []byte("k"), Value: []byte(v)}})
	}
	w, err := newWorld(s, 0, faults.JudgeFunc(d.fate))
	if err != nil {
		t.Fatal(err)
	}
	d.world = w
	w.procs[0].through = func(l wire.Log) wire.Log { return joinedLog{l, d.sits} }
	return d
}

func (d *doubtful) fate(r faults.Request) faults.Fate {
	if r.Kind == faults.AddPartitions {
		d.begun++
	}
	if r.Kind != faults.OffsetCommit || d.lose == 0 {
		return faults.Fate{}
	}
	d.lose--
	if d.late {
		return faults.Fate{Drop: true}
	}
	d.late = true
	return faults.Fate{After: 1 << 30}
}

func (d *doubtful) sits(m wire.Membership) wire.Membership {
	d.seat = m
	return doubtfulSeat{m, d}
}

type doubtfulSeat struct {
	wire.Membership
	d *doubtful
}

func (s doubtfulSeat) Rejoin() {
	s.d.asked++
	if !s.d.quiet {
		s.Membership.Rejoin()
	}
}

// step puts n records in and takes a checkpoint; it reports whether that was committed.
func (d *doubtful) step(n int) bool {
	d.t.Helper()
	if err := d.put(n); err != nil {
		d.t.Fatal(err)
	}
	return d.procs[0].step()
}

func (d *doubtful) at(topic string) int64 {
	return d.c.Committed("app")[wire.TopicPartition{Topic: topic}].Offset
}

// killed ends the process at once. It begins again when it is to do something.
func (d *doubtful) killed() {
	_ = d.procs[0].conn.Close()
	d.procs[0].recover(faults.ErrKilled)
	d.why = nil
}

// passing lets values through that begin with v, and counted counts those of two topics.
func passing(b *stream.Builder, _ *world) {
	source(b).Filter(isV).To(kafka.Sink("out", serde.String, serde.String))
}

func countedOfTwo(b *stream.Builder, _ *world) {
	first := source(b).Filter(isV) // whose position says where the changelog ends
	first.Merge(b.Source(kafka.Source("in2", serde.String, serde.String))).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
}

func isV(_, v string) bool { return strings.HasPrefix(v, "v") }

func eachOnce(n int) func(oracle.Records, *world) error {
	return func(out oracle.Records, _ *world) error {
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint("v", i))
		}
		return oracle.Once(out, want)
	}
}

func countsTo(n int64) func(oracle.Records, *world) error {
	return func(out oracle.Records, _ *world) error {
		return oracle.Counts(out, map[string]int64{"k": n}, serde.Int64.Decode)
	}
}

// TestLateCommitMovesPositionsBack: a plain commit goes without an answer, is sent again, and what was sent first is carried out behind the transaction of the next
// checkpoint. The group is back behind outputs that are committed, and the process is killed before it commits anything else: nothing comes twice.
func TestLateCommitMovesPositionsBack(t *testing.T) {
	one := []string{"in:v0", "in:v1", "in:x", "in:x", "in:v2", "in:v3", "in:v4", "in:v5"}
	two := []string{"in:v0", "in2:v1", "in:x", "in:x", "in2:v2", "in2:v3", "in2:v4", "in2:v5"}
	for name, c := range map[string]struct {
		s     scenario
		input []string
		back  string // the topic whose position is moved back; "" where only the place in the changelog is
	}{
		"pass":               {scenario{build: passing, check: eachOnce(6)}, one, "in"},
		"count":              {scenario{build: countedOfTwo, check: countsTo(6)}, one, "in"},
		"count, disk":        {scenario{build: countedOfTwo, check: countsTo(6), disk: true}, one, "in"},
		"count of another":   {scenario{build: countedOfTwo, check: countsTo(6)}, two, ""},
		"… of another, disk": {scenario{build: countedOfTwo, check: countsTo(6), disk: true}, two, ""},
	} {
		for _, lost := range []int{1, 8} { // the second is more than the client bears: it recovers, in the same generation
			t.Run(fmt.Sprintf("%s, lost %d", name, lost), func(t *testing.T) {
				c.s.outputs = []string{"in2"}
				d := newDoubtful(t, c.s, c.input...)
				d.quiet = true
				d.step(2)
				d.stops(t) // a task with state commits nothing plainly once it has written
				for range 5 {
					d.step(0) // checkpoints are numbered, and nothing is committed of them
				}
				d.lose = lost
				if d.step(2) != (lost == 1) || d.lose > 0 {
					t.Fatalf("%d plain commits were not sent: %v", d.lose, errors.Join(d.why...))
				}
				if !d.step(0) || !d.step(3) || !d.step(0) {
					t.Fatal(errors.Join(d.why...))
				}
				before := d.c.Committed("app")
				d.c.Settle()
				if after := d.c.Committed("app"); c.back != "" && d.at(c.back) >= 7 || fmt.Sprint(before) == fmt.Sprint(after) {
					t.Fatalf("nothing was moved back: %v", after)
				}
				d.killed()
				d.finish(t)
				if d.asked == 0 {
					t.Error("nobody asked for a round")
				}
			})
		}
	}
}

// TestDoubtedPositionsAskForARound: as long as a plain commit may still be carried out the task's record goes with what it commits, and the group is asked for a
// round, once. With that nothing moves back any more, what was is put right, and positions are committed plainly again.
func TestDoubtedPositionsAskForARound(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		t.Run(fmt.Sprintf("late before the round %v", quiet), func(t *testing.T) {
			d := newDoubtful(t, scenario{build: passing, check: eachOnce(3)}, "in:v0", "in:x", "in:v1", "in:x", "in:x", "in:v2")
			d.quiet = quiet
			d.step(1)
			generation := d.seat.Identity().Generation
			d.lose = 1
			d.step(1)
			d.step(1)
			d.step(1)
			if d.asked != 1 {
				t.Errorf("%d rounds were asked for", d.asked)
			}
			d.c.Settle()
			if back := d.at("in") == 2; back != quiet {
				t.Errorf("the group is at %d", d.at("in"))
			}
			if quiet {
				d.seat.Rejoin()
			}
			d.step(0)
			if now := d.seat.Identity().Generation; now != generation+1 {
				t.Errorf("generation %d became %d", generation, now)
			}
			if d.step(0); d.at("in") != 4 {
				t.Errorf("the group is at %d, want 4 without another record", d.at("in"))
			}
			begun := d.begun
			if d.step(1); d.at("in") != 5 || d.begun != begun {
				t.Errorf("the group is at %d after %d transactions for what is filtered out", d.at("in"), d.begun-begun)
			}
			d.finish(t)
		})
	}
}

// TestAtMostOnceIsNotMovedBack: under AtMostOnce positions are committed before their records are processed. One whose answer was lost is not taken for done until it
// cannot come late any more: after a crash nothing is processed again.
func TestAtMostOnceIsNotMovedBack(t *testing.T) {
	config := func(c *stream.Config) { c.Guarantee = stream.AtMostOnce }
	d := newDoubtful(t, scenario{build: passing, check: eachOnce(4), config: config}, "in:v0", "in:v1", "in:v2", "in:v3")
	d.step(1)
	d.lose = 1
	for range 2 { // no checkpoint comes between
		if err := d.put(1); err != nil {
			t.Fatal(err)
		}
		if !d.procs[0].work() {
			t.Fatal(errors.Join(d.why...))
		}
	}
	if d.lose > 0 || d.asked != 1 {
		t.Errorf("%d plain commits were not sent, %d rounds were asked for", d.lose, d.asked)
	}
	d.c.Settle()
	d.step(0) // what is processed is sent
	if d.at("in") != 3 {
		t.Errorf("the group is at %d", d.at("in"))
	}
	d.killed()
	d.finish(t)
}

// TestResetBehindADoubtedRecord: where an operator has set the position back, or taken it away, a task without state begins there, whatever its record says.
func TestResetBehindADoubtedRecord(t *testing.T) {
	twice := func(out oracle.Records, _ *world) error {
		var got []string
		for _, r := range out[0] {
			got = append(got, string(r.Value))
		}
		if !slices.Equal(got, []string{"v0", "v1", "v0", "v1"}) {
			return fmt.Errorf("in out is %v", got)
		}
		return nil
	}
	for name, reset := range map[string]func(d *doubtful){
		"set": func(d *doubtful) {
			at := []wire.Position{{TopicPartition: wire.TopicPartition{Topic: "in"}}}
			if err := d.connect(t).CommitPlain(t.Context(), wire.Identity{Group: "app", Generation: -1}, at); err != nil {
				t.Fatal(err)
			}
		},
		"taken away": func(d *doubtful) { d.c.ForgetOffsets("app") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoubtful(t, scenario{build: passing, check: twice}, "in:v0", "in:x", "in:v1")
			d.quiet = true
			d.step(1)
			d.lose = 1
			d.step(1)
			d.step(1)
			d.c.Settle()
			d.stops(t)
			reset(d)
			d.finish(t)
		})
	}
}

// TestNumbersGrowOverAMove: what is committed of a task has greater and greater numbers, also where it goes to a process that has counted less far. Which of
// two says is the newer one is told by them.
func TestNumbersGrowOverAMove(t *testing.T) {
	s := scenario{name: "moves", build: pass, check: everything, config: overKafka, members: 2}
	w, err := newWorld(s, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, moved := map[wire.TopicPartition]uint64{}, false
	look := func() {
		for at, c := range w.c.Committed("app") {
			n, err := strconv.ParseUint(strings.Split(c.Metadata+";0", ";")[1], 10, 64)
			if err != nil || n < last[at] {
				t.Errorf("%v is committed with %q behind %d", at, c.Metadata, last[at])
			}
			last[at] = n
		}
	}
	first, second := w.procs[0], w.procs[1]
	w.procs = w.procs[:1]
	for range 20 {
		w.steps(t, 1)
	}
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	w.steps(t, 1)
	look()
	w.procs = []*process{first, second}
	for w.sent < len(w.input) {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		for _, p := range w.procs {
			p.step()
			look()
		}
		moved = moved || len(second.running()) > 0
	}
	if !moved {
		t.Error("no task has moved")
	}
	w.finish(t)
}
