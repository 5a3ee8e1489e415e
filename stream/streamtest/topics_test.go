package streamtest_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func wordcount() *stream.Builder {
	b := stream.New("wordcount")
	b.Source(kafka.Source("lines", serde.Unit, serde.String)).
		FlatMapValues(strings.Fields).
		GroupBy(func(_ struct{}, word string) string { return strings.ToLower(word) }).
		Count().
		To(kafka.Sink("counts", serde.String, serde.Int64))
	return b
}

func TestTopics(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("exchange %d, %d partitions", exchange, partitions), func(t *testing.T) {
				d := streamtest.New(t, wordcount(), streamtest.Partitions(partitions),
					streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
				lines, counts := d.In[struct{}, string]("lines"), d.Out[string, int64]("counts")
				lines.Send(struct{}{}, "to be or not to be")
				if got, want := streamtest.Rows(counts), (map[string]int64{"to": 2, "be": 2, "or": 1, "not": 1}); !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				lines.Send(struct{}{}, "be")
				d.Crash()
				lines.Send(struct{}{}, "be")
				if got, want := streamtest.Rows(counts), (map[string]int64{"be": 4}); !maps.Equal(got, want) {
					t.Errorf("after a crash: got %v, want %v", got, want)
				}
				d.Restart(wordcount())
				lines.Send(struct{}{}, "or")
				if got, want := streamtest.Rows(counts), (map[string]int64{"or": 2}); !maps.Equal(got, want) {
					t.Errorf("after a restart: got %v, want %v", got, want)
				}
			})
		}
	}
}

func TestNothingIsSeenBeforeItsCheckpoint(t *testing.T) {
	d := streamtest.New(t, wordcount(), streamtest.ManualCheckpoints())
	lines, counts := d.In[struct{}, string]("lines"), d.Out[string, int64]("counts")
	lines.Send(struct{}{}, "a")
	if got := counts.Read(); len(got) != 0 {
		t.Errorf("before a checkpoint: %v", got)
	}
	d.Checkpoint()
	if got := counts.Read(); len(got) != 1 || got[0].Value != 1 {
		t.Errorf("after it: %v", got)
	}
	lines.Send(struct{}{}, "a")
	d.Crash()
	d.Checkpoint()
	if got := counts.Read(); len(got) != 1 || got[0].Value != 2 {
		t.Errorf("after a crash: %v", got)
	}
}

func TestRecordsKeepHeadersTimesAndNulls(t *testing.T) {
	b := stream.New("copy")
	b.Source(kafka.Source("in", serde.String, serde.Optional(serde.Int64))).To(kafka.Sink("out", serde.String, serde.Optional(serde.Int64)))
	d := streamtest.New(t, b, streamtest.StartAt(noon))
	in, out := d.In[string, *int64]("in"), d.Out[string, *int64]("out")
	one := int64(1)
	in.SendRecord(stream.Record[string, *int64]{Key: "a", Value: &one, Time: noon.Add(-time.Hour), Headers: connector.Headers{{Key: "h", Value: []byte("x")}}})
	in.SendRecord(stream.Record[string, *int64]{NoKey: true, Value: &one, Time: noon})
	in.Delete("b")
	got := out.Read()
	if len(got) != 3 {
		t.Fatalf("got %v", got)
	}
	if v, _ := got[0].Headers.Get("h"); v != "x" || !got[0].Time.Equal(noon.Add(-time.Hour)) || *got[0].Value != 1 {
		t.Errorf("got %+v", got[0])
	}
	if !got[1].NoKey {
		t.Errorf("got %+v, want a record without a key", got[1])
	}
	if got[2].Key != "b" || got[2].Value != nil || got[2].Deleted || !got[2].Time.Equal(noon) {
		t.Errorf("got %+v, want a nil value", got[2])
	}
}

func TestRoutedTopics(t *testing.T) {
	b := stream.New("route")
	b.Source(kafka.Source("in", serde.String, serde.String)).
		To(kafka.Sink("rest", serde.String, serde.String).Route(func(r *connector.Record[string, string]) string {
			if r.Key == "" {
				return ""
			}
			return "to-" + r.Key
		}))
	d := streamtest.New(t, b)
	in, a, c := d.In[string, string]("in"), d.Out[string, string]("to-a"), d.Out[string, string]("to-c")
	for _, k := range []string{"a", "b", "", "a"} {
		in.Send(k, "v")
	}
	if got := a.Read(); len(got) != 2 {
		t.Errorf("to-a: %v", got)
	}
	if got := c.Read(); len(got) != 0 {
		t.Errorf("to-c: %v", got)
	}
}

func TestDeadLettersHaveTheBytesAndWhy(t *testing.T) {
	b := stream.New("letters")
	b.Source(kafka.Source("in", serde.String, serde.Int64), stream.OnError(stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes)))).
		To(kafka.Sink("out", serde.String, serde.Int64))
	d := streamtest.New(t, b)
	in, out, dead := d.In[string, int64]("in"), d.Out[string, int64]("out"), d.Out[[]byte, []byte]("dead")
	in.SendBytes([]byte("k"), []byte("no number"))
	in.Send("k", 7)
	if got := out.Read(); len(got) != 1 || got[0].Value != 7 {
		t.Errorf("got %v", got)
	}
	got := dead.Read()
	if len(got) != 1 || string(got[0].Value) != "no number" || string(got[0].Key) != "k" {
		t.Fatalf("dead letters: %v", got)
	}
	if topic, _ := got[0].Headers.Get("weir.topic"); topic != "in" {
		t.Errorf("headers %v", got[0].Headers)
	}
}

func TestTwoClusters(t *testing.T) {
	there := &kafka.Cluster{Brokers: []string{"there:9092"}}
	b := stream.New("mirror")
	b.Source(kafka.Source("a", serde.Bytes, serde.Bytes, kafka.On(there))).To(kafka.Sink("a", serde.Bytes, serde.Bytes))
	d := streamtest.New(t, b)
	in, out := d.In[[]byte, []byte]("a"), d.Out[[]byte, []byte]("a")
	in.Send([]byte("k"), []byte("v"))
	if got := out.Read(); len(got) != 1 || string(got[0].Value) != "v" {
		t.Errorf("got %v", got)
	}
}

// A probe is a test that may fail without this one failing.
type probe struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (p *probe) Helper()          {}
func (p *probe) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }
func (p *probe) Errorf(format string, args ...any) {
	p.said = append(p.said, fmt.Sprintf(format, args...))
}
func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	panic(errStop)
}

var errStop = errors.New("the test has stopped")

// said is what a test says that does f.
func said(t *testing.T, f func(t testing.TB)) string {
	p := &probe{TB: t}
	run := func(f func()) {
		defer func() {
			if r := recover(); r != nil && r != any(errStop) {
				panic(r)
			}
		}()
		f()
	}
	run(func() { f(p) })
	slices.Reverse(p.cleanups)
	for _, c := range p.cleanups {
		run(c)
	}
	return strings.Join(p.said, "\n")
}

func TestMistakesFailTheTest(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t testing.TB)
		want string
	}{
		"types of an input": {func(t testing.TB) {
			streamtest.New(t, wordcount()).In[string, string]("lines")
		}, `"lines" is a *kafka.TopicSource[struct {},string], which does not carry string and string`},
		"types of an output": {func(t testing.TB) {
			streamtest.New(t, wordcount()).Out[string, string]("counts")
		}, `"counts" is a *kafka.TopicSink[string,int64], which does not carry string and string`},
		"a topic that nobody reads": {func(t testing.TB) {
			streamtest.New(t, wordcount()).In[string, string]("line")
		}, `no source reads "line". The sources are of: lines`},
		"a topic that nobody writes": {func(t testing.TB) {
			streamtest.New(t, wordcount()).Out[string, string]("count")
		}, `no sink writes "count"`},
		"a Build error": {func(t testing.TB) {
			streamtest.New(t, stream.New("empty"))
		}, "Build: "},
		"a failure that nobody asks for": {func(t testing.TB) {
			d := streamtest.New(t, wordcount())
			d.In[struct{}, string]("lines").Send(struct{}{}, "a")
			d.Crash()
			b := stream.New("fails")
			b.Source(kafka.Source("lines", serde.Unit, serde.String)).MapValues(func(string) string { panic("oh") }).
				ForEach(func(stream.Record[struct{}, string]) error { return nil })
			d = streamtest.New(t, b)
			d.In[struct{}, string]("lines").Send(struct{}{}, "a")
		}, "the app failed: node map-values-1"},
		"a record after the end": {func(t testing.TB) {
			in := streamtest.New(t, wordcount()).In[struct{}, string]("lines")
			in.End()
			in.Send(struct{}{}, "a")
		}, "a record after End"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(t, c.do); !strings.Contains(got, c.want) {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

func TestASinkOnAnotherCluster(t *testing.T) {
	there := &kafka.Cluster{Brokers: []string{"there:9092"}}
	for name, opts := range map[string][]stream.SinkOption{"exactly once": nil, "at least once": {stream.AtLeastOnceSink()}} {
		t.Run(name, func(t *testing.T) {
			mirror := func() *stream.Builder {
				b := stream.New("mirror")
				b.Source(kafka.Source("a", serde.Bytes, serde.Bytes)).To(kafka.Sink("a", serde.Bytes, serde.Bytes, kafka.On(there)), opts...)
				return b
			}
			d := streamtest.New(t, mirror())
			in, out := d.In[[]byte, []byte]("a"), d.Out[[]byte, []byte]("a")
			for i, then := range []func(){func() {}, d.Crash, func() { d.Restart(mirror()) }, func() {}} {
				in.Send([]byte("k"), []byte{byte('0' + i)})
				if got := out.Read(); len(got) != 1 || string(got[0].Value) != fmt.Sprint(i) || len(got[0].Headers) != 0 {
					t.Errorf("%d: got %v", i, got)
				}
				then()
			}
		})
	}
}
