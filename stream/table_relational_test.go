package stream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// Rows of the left table are "foreign key|number"; the key may be missing.
func foreignKey(_, row string) (string, bool) {
	fk, _, _ := strings.Cut(row, "|")
	return fk, fk != ""
}

func amount(row string) int64 {
	_, n, _ := strings.Cut(row, "|")
	v, _ := strconv.ParseInt(n, 10, 64)
	return v
}

// pair is what joins make; a side that is not there is "-".
func pair(a string, hasA bool, b string, hasB bool) string {
	if !hasA {
		a = "-"
	}
	if !hasB {
		b = "-"
	}
	return a + "+" + b
}

// relational is a topology of every join and group of tables.
func relational() *stream.Builder {
	b := stream.New("relational")
	left := b.Table(kafka.Source("left", serde.String, serde.String))
	right := b.Table(kafka.Source("right", serde.String, serde.String))
	to := func(name string) *kafka.TopicSink[string, string] {
		return kafka.Sink(name, serde.String, serde.String)
	}
	both := func(a, b string) string { return pair(a, true, b, true) }
	ifBoth := func(a, b string, ok bool) string { return pair(a, true, b, ok) }
	left.Join(right, both, stream.Named("inner")).To(to("inner"))
	left.LeftJoin(right, ifBoth, stream.Named("outer-left")).To(to("left-join"))
	left.OuterJoin(right, func(a, b string, m stream.Match) string {
		return pair(a, m != stream.RightOnly, b, m != stream.LeftOnly)
	}, stream.Named("full")).To(to("full"))
	left.JoinOn(right, foreignKey, both, stream.Named("on")).To(to("on"))
	left.LeftJoinOn(right, foreignKey, ifBoth, stream.Named("left-on")).To(to("left-on"))
	sums := kafka.Sink("sums", serde.String, serde.Int64)
	left.Filter(func(_, row string) bool { return amount(row)%3 != 0 }).
		GroupBy(func(k, row string) (string, int64) { fk, _ := foreignKey(k, row); return "g" + fk, amount(row) }).
		Reduce(func(a, b int64) int64 { return a + b }, func(a, b int64) int64 { return a - b }, stream.Named("sums")).To(sums)
	return b
}

// evaluated is what the topology must amount to over the final rows.
func evaluated(left, right map[string]string) map[string]map[string]string {
	out := map[string]map[string]string{"inner": {}, "left-join": {}, "full": {}, "on": {}, "left-on": {}}
	for k, a := range left {
		b, ok := right[k]
		if ok {
			out["inner"][k] = pair(a, true, b, true)
		}
		out["left-join"][k] = pair(a, true, b, ok)
		out["full"][k] = out["left-join"][k]
		fk, has := foreignKey(k, a)
		c, ok := right[fk]
		if has && ok {
			out["on"][k] = pair(a, true, c, true)
		}
		out["left-on"][k] = pair(a, true, c, has && ok)
	}
	for k, b := range right {
		if _, ok := left[k]; !ok {
			out["full"][k] = pair("", false, b, true)
		}
	}
	return out
}

func summed(left map[string]string) map[string]int64 {
	sums := map[string]int64{}
	for k, row := range left {
		if amount(row)%3 != 0 {
			fk, _ := foreignKey(k, row)
			sums["g"+fk] += amount(row)
		}
	}
	maps.DeleteFunc(sums, func(_ string, n int64) bool { return n == 0 })
	return sums
}

// Whatever the order of updates, the partitions, the exchange and the crashes: the results are those of the final rows.
func TestTablesAreRelational(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		for _, partitions := range []int{1, 2, 8} {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("exchange %v, %d partitions, seed %d", exchange, partitions, seed), func(t *testing.T) {
					relate(t, rand.New(rand.NewPCG(seed, 7)), partitions, exchange, relational(), evaluated, summed)
				})
			}
		}
	}
}

func relate(t *testing.T, r *rand.Rand, partitions int, exchange stream.Exchange, b *stream.Builder,
	evaluated func(left, right map[string]string) map[string]map[string]string, summed func(left map[string]string) map[string]int64) {
	d := streamtest.New(t, b, streamtest.Partitions(partitions), streamtest.ManualCheckpoints(),
		streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
	rows := map[string]map[string]string{"left": {}, "right": {}}
	ins := map[string]*streamtest.In[string, string]{"left": d.In[string, string]("left"), "right": d.In[string, string]("right")}
	key := func() string { return fmt.Sprintf("k%d", r.IntN(9)) }
	for range 150 {
		name, k := []string{"left", "right"}[r.IntN(2)], key()
		switch n := r.IntN(20); {
		case n == 0:
			d.Crash()
		case n < 3:
			d.Checkpoint()
		case n < 8:
			ins[name].Delete(k)
			delete(rows[name], k)
		default:
			v := fmt.Sprintf("%s|%d", []string{key(), ""}[min(1, r.IntN(6)/5)], r.IntN(50))
			ins[name].Send(k, v)
			rows[name][k] = v
		}
	}
	d.Checkpoint()
	for name, want := range evaluated(rows["left"], rows["right"]) {
		if got := streamtest.Rows(d.Out[string, string](name)); !maps.Equal(got, want) {
			t.Errorf("%s is\n%v, want\n%v", name, got, want)
		}
	}
	got := streamtest.Rows(d.Out[string, int64]("sums"))
	maps.DeleteFunc(got, func(_ string, n int64) bool { return n == 0 }) // a group that has become empty
	if want := summed(rows["left"]); !maps.Equal(got, want) {
		t.Errorf("sums are\n%v, want\n%v", got, want)
	}
}
