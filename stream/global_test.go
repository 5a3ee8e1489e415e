package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// abroad joins people, "name|country", with the numbers of their countries; one without a country looks nothing up.
func abroad(global ...stream.TableSourceOption) *stream.Builder {
	b := stream.New("abroad")
	codes := b.Global(kafka.Source("codes", serde.String, serde.JSON[int]()), global...)
	people := b.Source(kafka.Source("people", serde.String, serde.String))
	country := func(_, p string) (string, bool) {
		_, c, ok := strings.Cut(p, "|")
		return c, ok
	}
	people.JoinGlobal(codes, country, func(p string, code int) string { return fmt.Sprint(p, " +", code) }).
		To(kafka.Sink("inner", serde.String, serde.String))
	people.LeftJoinGlobal(codes, country, func(p string, code int, ok bool) string { return fmt.Sprint(p, " +", code, " ", ok) }).
		To(kafka.Sink("left", serde.String, serde.String))
	return b
}

// Every task sees every row, under whatever key; a record without a key is joined like any other.
func TestJoinGlobal(t *testing.T) {
	d := streamtest.New(t, abroad(), streamtest.Partitions(4), streamtest.StartAt(start))
	codes, people := d.In[string, int]("codes"), d.In[string, string]("people")
	codes.Send("ch", 41)
	codes.Send("de", 48)
	codes.Send("de", 49)
	codes.Send("su", 7)
	codes.Delete("su")
	for i, p := range []string{"ann|ch", "bob|de", "cid|su", "dan"} {
		people.SendAt(at(i), p[:3], p)
	}
	people.SendRecord(stream.Record[string, string]{NoKey: true, Value: "eve|ch", Time: at(4)})
	expect(t, "inner", texts(d.Out[string, string]("inner")), "ann ann|ch +41", "bob bob|de +49", " eve|ch +41")
	left := d.Out[string, string]("left")
	expect(t, "left", texts(left), "ann ann|ch +41 true", "bob bob|de +49 true", "cid cid|su +0 false", "dan dan +0 false", " eve|ch +41 true")
	codes.Delete("ch")
	d.Crash() // the rows are loaded again
	people.SendAt(at(5), "fay", "fay|de")
	people.SendAt(at(6), "gil", "gil|ch")
	expect(t, "after a crash", texts(left), "fay fay|de +49 true", "gil gil|ch +0 false")
}

// What happens to a row that cannot be read: skipped it leaves the old one, by whoever says so, else the app fails.
func TestBadRowsOfAGlobalTable(t *testing.T) {
	decide := func(p stream.Policy) stream.TableSourceOption {
		return stream.OnError(stream.Decide(func(*stream.Error) stream.Policy { return p }))
	}
	for _, c := range []struct {
		name  string
		opts  []stream.TableSourceOption
		app   stream.Policy
		skips bool
	}{
		{"skip", []stream.TableSourceOption{stream.OnError(stream.Skip)}, stream.Fail, true},
		{"skip of the app", nil, stream.Skip, true},
		{"decided to skip", []stream.TableSourceOption{decide(stream.Skip)}, stream.Fail, true},
		{"decided to fail", []stream.TableSourceOption{decide(stream.Fail)}, stream.Skip, false},
		{"fail", []stream.TableSourceOption{stream.OnError(stream.Fail)}, stream.Skip, false},
		{"nothing said", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := streamtest.New(t, abroad(c.opts...), streamtest.Config(func(config *stream.Config) { config.OnError = c.app }))
			codes, people := d.In[string, int]("codes"), d.In[string, string]("people")
			codes.Send("ch", 41)
			codes.SendBytes([]byte("ch"), []byte("none"))
			if !c.skips {
				var e *stream.Error
				if err := d.Err(); !errors.As(err, &e) || e.Origin.Topic != "codes" || e.Origin.Offset != 1 {
					t.Errorf("got %v", err)
				}
				return
			}
			people.Send("ann", "ann|ch")
			expect(t, "joined", texts(d.Out[string, string]("inner")), "ann ann|ch +41")
		})
	}
}

func TestAGlobalTableHasNoDeadLetters(t *testing.T) {
	b := abroad(stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes))))
	if _, err := b.Topology(); err == nil || !strings.Contains(err.Error(), "no dead letters") {
		t.Errorf("got %v", err)
	}
}

// Dead letters for the whole app do not cover a global table: it has to say what becomes of its rows.
func TestAppsDeadLettersAreNotForAGlobalTable(t *testing.T) {
	dead := stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes))
	config := stream.Config{Cluster: &kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, OnError: dead}
	if _, err := abroad().Build(config); err == nil || !strings.Contains(err.Error(), "OnError(Skip)") {
		t.Errorf("got %v", err)
	}
	if _, err := abroad(stream.OnError(stream.Skip)).Build(config); err != nil {
		t.Errorf("with a policy of its own: %v", err)
	}
	d := streamtest.New(t, abroad(stream.OnError(stream.Decide(func(*stream.Error) stream.Policy { return dead }))))
	d.In[string, int]("codes").SendBytes([]byte("ch"), []byte("none"))
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "choose Skip or Fail") {
		t.Errorf("decided: %v", err)
	}
}

// A key function that gives up on a record loses that record alone.
func TestARejectedGlobalJoin(t *testing.T) {
	b := stream.New("abroad")
	codes := b.Global(kafka.Source("codes", serde.String, serde.JSON[int]()))
	b.Source(kafka.Source("people", serde.String, serde.String)).
		LeftJoinGlobal(codes, func(_, p string) (string, bool) {
			if p == "bad" {
				stream.Reject(errBad)
			}
			return p, true
		}, func(p string, code int, _ bool) string { return fmt.Sprint(p, " +", code) },
			stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b)
	people, out := d.In[string, string]("people"), d.Out[string, string]("out")
	d.In[string, int]("codes").Send("ch", 41)
	people.Send("k", "bad")
	people.Send("k", "ch")
	expect(t, "joined", texts(out), "k ch +41")
	if got := d.Out[[]byte, []byte]("dead").Read(); len(got) != 1 || string(got[0].Value) != "bad" {
		t.Errorf("dead letters: %v", got)
	}
}

// showAbroad prints what abroad makes of two people, of whom one's country has a number.
func showAbroad(topic string) {
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, abroad())
	d.In[string, int]("codes").Send("ch", 41)
	people := d.In[string, string]("people")
	people.Send("1", "ann|ch")
	people.Send("2", "bob|fr")
	for _, r := range d.Out[string, string](topic).Read() {
		fmt.Println(r.Value)
	}
}

func ExampleBuilder_Global() {
	b := stream.New("countries")
	names := b.Global(kafka.Source("names", serde.String, serde.String))
	b.Source(kafka.Source("visits", serde.String, serde.String)).
		JoinGlobal(names, func(_, country string) (string, bool) { return country, true },
			func(_, name string) string { return "a visit to " + name }).
		To(kafka.Sink("out", serde.String, serde.String))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b, streamtest.Partitions(4)) // of which each sees all names
	d.In[string, string]("names").Send("ch", "Switzerland")
	visits := d.In[string, string]("visits")
	visits.Send("ann", "ch")
	visits.Send("bob", "ch")
	for _, r := range d.Out[string, string]("out").Read() {
		fmt.Println(r.Key, r.Value)
	}
	// Unordered output:
	// ann a visit to Switzerland
	// bob a visit to Switzerland
}

func ExampleStream_JoinGlobal() {
	showAbroad("inner")
	// Output: ann|ch +41
}

func ExampleStream_LeftJoinGlobal() {
	showAbroad("left")
	// Output:
	// ann|ch +41 true
	// bob|fr +0 false
}
