package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// priced joins orders, of products by number, with the table of their prices.
func priced(table []stream.TableSourceOption, join ...stream.JoinTableOption) *stream.Builder {
	b := stream.New("priced")
	prices := b.Table(kafka.Source("prices", serde.String, serde.JSON[int]()), table...)
	orders := b.Source(kafka.Source("orders", serde.String, serde.String))
	orders.JoinTable(prices, func(o string, p int) string { return fmt.Sprint(o, " for ", p) }, append(join, stream.Named("inner"))...).
		To(kafka.Sink("inner", serde.String, serde.String))
	orders.LeftJoinTable(prices, func(o string, p int, ok bool) string { return fmt.Sprint(o, " for ", p, " ", ok) },
		append(join, stream.Named("left"))...).
		To(kafka.Sink("left", serde.String, serde.String))
	return b
}

// An order sees the price as it is when it comes, whatever their times; one without a price or a key is only in the left join.
func TestJoinTableSeesTheRowAsItIs(t *testing.T) {
	d := streamtest.New(t, priced(nil), streamtest.StartAt(start))
	prices, orders := d.In[string, int]("prices"), d.In[string, string]("orders")
	inner, left := d.Out[string, string]("inner"), d.Out[string, string]("left")
	orders.SendAt(at(0), "tea", "o1")
	prices.SendAt(at(9), "tea", 5)
	orders.SendAt(at(1), "tea", "o2")
	d.Checkpoint() // else what the crash repeats is merged by time
	d.Crash()
	prices.SendAt(at(3), "tea", 6) // older, and still the latest
	orders.SendAt(at(2), "tea", "o3")
	orders.SendRecord(stream.Record[string, string]{NoKey: true, Value: "o4", Time: at(3)})
	prices.Delete("tea")
	orders.SendAt(at(4), "tea", "o5")
	expect(t, "inner", texts(inner), "tea o2 for 5", "tea o3 for 6")
	expect(t, "left", texts(left), "tea o1 for 0 false", "tea o2 for 5 true", "tea o3 for 6 true", " o4 for 0 false", "tea o5 for 0 false")
}

// An order sees the price that a versioned table had at its time.
func TestJoinTableAsOf(t *testing.T) {
	d := streamtest.New(t, priced([]stream.TableSourceOption{stream.Versioned(time.Minute)}), streamtest.StartAt(start))
	prices, orders := d.In[string, int]("prices"), d.In[string, string]("orders")
	inner := d.Out[string, string]("inner")
	prices.SendAt(at(10), "tea", 5)
	prices.SendAt(at(30), "tea", 7)
	prices.SendAt(at(20), "tea", 6) // out of order
	prices.SendRecord(stream.Record[string, int]{Key: "tea", Deleted: true, Time: at(40)})
	d.Crash()
	for i, second := range []int{9, 10, 19, 20, 30, 39, 40} {
		orders.SendAt(at(second), "tea", fmt.Sprint("o", i))
	}
	expect(t, "as of", texts(inner), "tea o1 for 5", "tea o2 for 5", "tea o3 for 6", "tea o4 for 7", "tea o5 for 7")
}

// What waits for its row survives a crash, all of it, and comes out in the order of time.
func TestWaitForSurvives(t *testing.T) {
	d := streamtest.New(t, priced([]stream.TableSourceOption{stream.Versioned(time.Minute)}, stream.WaitFor(10*time.Second)), streamtest.StartAt(start))
	prices, orders := d.In[string, int]("prices"), d.In[string, string]("orders")
	inner, left := d.Out[string, string]("inner"), d.Out[string, string]("left")
	prices.SendAt(at(0), "tea", 1)
	orders.SendAt(at(5), "tea", "o1")
	orders.SendAt(at(6), "tea", "o2")
	orders.SendRecord(stream.Record[string, string]{NoKey: true, Value: "none", Time: at(6)})
	expect(t, "waiting", texts(inner))
	d.Crash()
	orders.SendAt(at(6), "tea", "o3") // must not take the place of o2
	orders.SendAt(at(6), "tea", "o4")
	prices.SendAt(at(6), "tea", 2) // behind the orders, in time for those of second 6
	orders.End()
	prices.End()
	expect(t, "inner", texts(inner), "tea o1 for 1", "tea o2 for 2", "tea o3 for 2", "tea o4 for 2")
	expect(t, "left", texts(left), "tea o1 for 1 true", "tea o2 for 2 true", " none for 0 false", "tea o3 for 2 true", "tea o4 for 2 true")
}

// A price that cannot be read leaves the one before it.
func TestABadRowLeavesTheOldOne(t *testing.T) {
	dead := kafka.Sink("dead", serde.Bytes, serde.Bytes)
	for name, policy := range map[string]stream.Policy{"skip": stream.Skip, "dead letter": stream.DeadLetter(dead)} {
		t.Run(name, func(t *testing.T) {
			d := streamtest.New(t, priced([]stream.TableSourceOption{stream.OnError(policy)}), streamtest.StartAt(start))
			prices, orders, inner := d.In[string, int]("prices"), d.In[string, string]("orders"), d.Out[string, string]("inner")
			prices.Send("tea", 5)
			prices.SendBytes([]byte("tea"), []byte("free"))
			orders.Send("tea", "o1")
			expect(t, "joined", texts(inner), "tea o1 for 5")
			if name == "skip" {
				return
			}
			if got := d.Out[[]byte, []byte]("dead").Read(); len(got) != 1 || string(got[0].Key) != "tea" || string(got[0].Value) != "free" {
				t.Errorf("dead letters: %v", got)
			}
		})
	}
}

// A joiner that gives up on an order loses that order alone.
func TestARejectedJoin(t *testing.T) {
	b := stream.New("priced")
	prices := b.Table(kafka.Source("prices", serde.String, serde.JSON[int]()))
	b.Source(kafka.Source("orders", serde.String, serde.String)).
		JoinTable(prices, func(o string, p int) string {
			if o == "bad" {
				stream.Reject(errBad)
			}
			return fmt.Sprint(o, " for ", p)
		}, stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b)
	orders, out := d.In[string, string]("orders"), d.Out[string, string]("out")
	d.In[string, int]("prices").Send("tea", 5)
	orders.Send("tea", "bad")
	orders.Send("tea", "good")
	expect(t, "joined", texts(out), "tea good for 5")
	if got := d.Out[[]byte, []byte]("dead").Read(); len(got) != 1 || string(got[0].Value) != "bad" {
		t.Errorf("dead letters: %v", got)
	}
}

// showOrders prints what comes of an order of tea, which has a price, and one of cake, which has none.
func showOrders(join func(orders *stream.Stream[string, string], prices *stream.Table[string, int]) *stream.Stream[string, string]) {
	b := stream.New("priced")
	prices := b.Table(kafka.Source("prices", serde.String, serde.JSON[int]()), stream.Versioned(time.Hour))
	join(b.Source(kafka.Source("orders", serde.String, serde.String)), prices).To(kafka.Sink("out", serde.String, serde.String))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b, streamtest.StartAt(noonAt(0)))
	sold, changed := d.In[string, string]("orders"), d.In[string, int]("prices")
	changed.SendAt(noonAt(0), "tea", 5)
	changed.SendAt(noonAt(20), "tea", 6)
	sold.SendAt(noonAt(10), "tea", "a cup of tea")
	sold.SendAt(noonAt(30), "cake", "a piece of cake")
	sold.End()
	changed.End()
	for _, r := range d.Out[string, string]("out").Read() {
		fmt.Println(r.Value)
	}
}

func ExampleBuilder_Table() {
	showOrders(func(orders *stream.Stream[string, string], prices *stream.Table[string, int]) *stream.Stream[string, string] {
		return orders.JoinTable(prices, func(o string, p int) string { return fmt.Sprint(o, " for ", p) })
	})
	// Output: a cup of tea for 5
}

func ExampleStream_JoinTable() {
	showOrders(func(orders *stream.Stream[string, string], prices *stream.Table[string, int]) *stream.Stream[string, string] {
		return orders.JoinTable(prices, func(o string, p int) string { return fmt.Sprint(o, " for ", p) }, stream.WaitFor(time.Minute))
	})
	// Output: a cup of tea for 5
}

func ExampleStream_LeftJoinTable() {
	showOrders(func(orders *stream.Stream[string, string], prices *stream.Table[string, int]) *stream.Stream[string, string] {
		return orders.LeftJoinTable(prices, func(o string, p int, ok bool) string {
			if !ok {
				return o + " as a gift"
			}
			return fmt.Sprint(o, " for ", p)
		})
	})
	// Output:
	// a cup of tea for 5
	// a piece of cake as a gift
}
