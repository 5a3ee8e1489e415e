package stream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// refuses gives up on one in five rows; which, depends on who asks.
func refuses(who int64, row string) bool { return amount(row)%5 == who }

func check(who int64, row string) {
	if refuses(who, row) {
		stream.Reject(errBad)
	}
}

// rejecting is a topology of every join and group of tables, whose functions all reject some rows.
func rejecting(policy stream.Policy) *stream.Builder {
	b := stream.New("rejecting")
	skip := stream.OnError(policy)
	left := b.Table(kafka.Source("left", serde.String, serde.String)).
		Filter(func(_, row string) bool { check(0, row); return true }, skip)
	right := b.Table(kafka.Source("right", serde.String, serde.String)).
		MapValues(func(row string) string { check(0, row); return row }, skip)
	to := func(name string) *kafka.TopicSink[string, string] {
		return kafka.Sink(name, serde.String, serde.String)
	}
	both := func(a, b string) string { check(1, a); check(2, b); return pair(a, true, b, true) }
	ifBoth := func(a, b string, ok bool) string { check(1, a); return pair(a, true, b, ok) }
	fk := func(k, row string) (string, bool) { check(3, row); return foreignKey(k, row) }
	left.Join(right, both, stream.Named("inner"), skip).To(to("inner"))
	left.LeftJoin(right, ifBoth, stream.Named("outer-left"), skip).To(to("left-join"))
	left.OuterJoin(right, func(a, b string, m stream.Match) string {
		check(1, a)
		return pair(a, m != stream.RightOnly, b, m != stream.LeftOnly)
	}, stream.Named("full"), skip).To(to("full"))
	left.JoinOn(right, fk, both, stream.Named("on"), skip).To(to("on"))
	left.LeftJoinOn(right, fk, ifBoth, stream.Named("left-on"), skip).To(to("left-on"))
	left.GroupBy(func(k, row string) (string, string) { check(1, row); f, _ := foreignKey(k, row); return "g" + f, row }, stream.Named("group"), skip).
		Aggregate(func() int64 { return 0 },
			func(_, row string, n int64) int64 { check(2, row); return n + amount(row) },
			func(_, row string, n int64) int64 { return n - amount(row) }, stream.Named("sums"), skip).
		To(kafka.Sink("sums", serde.String, serde.Int64))
	return b
}

// accepted is what the rejecting topology must amount to over the final rows.
func accepted(left, right map[string]string) map[string]map[string]string {
	left, right = without(left, 0), without(right, 0)
	out := evaluated(without(left, 1), right)
	out["on"], out["left-on"] = map[string]string{}, map[string]string{}
	inner := evaluated(without(left, 1), without(right, 2))
	out["inner"] = inner["inner"]
	out["on"] = evaluated(without(without(left, 1), 3), without(right, 2))["on"]
	out["left-on"] = evaluated(without(without(left, 1), 3), right)["left-on"]
	for k := range left {
		if refuses(1, left[k]) {
			delete(out["full"], k)
		}
	}
	return out
}

func without(rows map[string]string, who int64) map[string]string {
	rows = maps.Clone(rows)
	maps.DeleteFunc(rows, func(_, row string) bool { return refuses(who, row) })
	return rows
}

func acceptedSums(left map[string]string) map[string]int64 {
	sums := map[string]int64{}
	for k, row := range without(without(without(left, 0), 1), 2) {
		fk, _ := foreignKey(k, row)
		sums["g"+fk] += amount(row)
	}
	maps.DeleteFunc(sums, func(_ string, n int64) bool { return n == 0 })
	return sums
}

// Rejected rows are not in any result, whatever the order of updates, the partitions, the exchange and the crashes.
func TestRejectedRowsAreNotInTables(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		for _, partitions := range []int{1, 8} {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("exchange %v, %d partitions, seed %d", exchange, partitions, seed), func(t *testing.T) {
					relate(t, rand.New(rand.NewPCG(seed, 8)), partitions, exchange, rejecting(stream.Skip), accepted, acceptedSums)
				})
			}
		}
	}
}

// What a group has not taken in is part of its state: it is not taken out after a crash either, and of equal rows as many as were refused.
func TestARefusedRowIsNotTakenOutAfterACrash(t *testing.T) {
	refuse := true
	b := stream.New("refused")
	b.Table(kafka.Source("rows", serde.String, serde.Int64)).
		GroupBy(func(string, int64) (string, int64) { return "all", 7 }).
		Aggregate(func() []int64 { return nil },
			func(_ string, v int64, r []int64) []int64 {
				if len(r) > 0 {
					r[0] = 99 // in place, before it gives up
				}
				if refuse {
					stream.Reject(errBad)
				}
				return append(r, v)
			},
			func(_ string, v int64, r []int64) []int64 { return r[:len(r)-1] }, stream.OnError(stream.Skip)).
		To(kafka.Sink("sums", serde.String, serde.JSON[[]int64]()))
	d := streamtest.New(t, b)
	in, out := d.In[string, int64]("rows"), d.Out[string, []int64]("sums")
	in.Send("a", 1)
	in.Send("b", 1)
	refuse = false
	in.Send("c", 1)
	refuse = true
	in.Send("d", 1) // what it has changed in place is put back
	d.Checkpoint()  // else the crash repeats what refuse no longer says
	d.Crash()
	rows := map[string][]int64{}
	for _, step := range []struct {
		gone, left string
	}{{"a", "[7]"}, {"b", "[7]"}, {"d", "[7]"}, {"c", "[]"}} {
		in.Delete(step.gone)
		d.Crash()
		maps.Copy(rows, streamtest.Rows(out))
		if got := fmt.Sprint(rows["all"]); got != step.left {
			t.Errorf("without %s: %s, want %s", step.gone, got, step.left)
		}
	}
}

// A record that looks a row up which an operator of the table has rejected finds none. It is not the record's fault.
func TestLookupOfARejectedRow(t *testing.T) {
	b := stream.New("lookup")
	counted := counts{}
	table := b.Table(kafka.Source("rows", serde.String, serde.String), stream.Versioned(time.Hour)).
		Filter(func(_, row string) bool { check(0, row); return true }, stream.OnError(stream.Skip)).
		MapValues(func(row string) string { check(1, row); return row }, stream.OnError(stream.Skip))
	plain := b.Table(kafka.Source("plain", serde.String, serde.String)).
		MapValues(func(row string) string { check(1, row); return row }, stream.OnError(stream.Skip))
	in := b.Source(kafka.Source("in", serde.String, serde.String))
	for name, tab := range map[string]*stream.Table[string, string]{"as-of": table, "now": plain} {
		in.LeftJoinTable(tab, func(v, row string, ok bool) string { return fmt.Sprint(v, " ", row, " ", ok) }, stream.Named(name)).
			To(kafka.Sink(name, serde.String, serde.String))
		in.JoinTable(tab, func(v, row string) string { return row }, stream.Named(name+"-inner")).
			To(kafka.Sink(name+"-inner", serde.String, serde.String))
	}
	d := streamtest.New(t, b, streamtest.StartAt(start), streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	for i, row := range []string{"x|2", "x|5", "x|6"} {
		for _, name := range []string{"rows", "plain"} {
			d.In[string, string](name).SendAt(at(i), fmt.Sprint("k", i), row)
		}
		d.In[string, string]("in").SendAt(at(i), fmt.Sprint("k", i), "v")
	}
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"as-of": {"k0 v x|2 true", "k1 v  false", "k2 v  false"}, "as-of-inner": {"k0 x|2"},
		"now": {"k0 v x|2 true", "k1 v x|5 true", "k2 v  false"}, "now-inner": {"k0 x|2", "k1 x|5"},
	}
	for name, want := range want {
		if got := texts(d.Out[string, string](name)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if n := counted.of("weir_rejected_total", "node"); n != 3 {
		t.Errorf("%d rows counted as rejected, want each once: %v", n, counted)
	}
}
