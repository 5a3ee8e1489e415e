package stream_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestDeduplicate(t *testing.T) {
	b := stream.New("dedupe")
	b.Source(kafka.Source("in", serde.String, serde.String), stream.Disorder(10*time.Second)).
		Deduplicate(func(_, v string) string { return v[:1] }, time.Minute).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.StartAt(start))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.SendAt(at(0), "k", "a1")
	in.SendAt(at(0), "j", "a2") // another key
	in.SendAt(at(1), "k", "b1")
	in.SendAt(at(60), "k", "a3")  // a minute behind a1: a repeat
	in.SendAt(at(55), "k", "a4")  // older than the one before it
	in.SendAt(at(110), "k", "a5") // a repeat of the repeat
	expect(t, "first", texts(out), "k a1", "j a2", "k b1")
	d.Crash()
	in.SendAt(at(111), "k", "a6")
	in.SendAt(at(172), "k", "a7") // more than a minute behind all of them
	expect(t, "later", texts(out), "k a7")
	in.SendAt(at(400), "k", "z1")
	in.SendAt(at(401), "k", "a8") // what it is compared with was forgotten long ago
	expect(t, "much later", texts(out), "k z1", "k a8")
}

func TestSample(t *testing.T) {
	b := stream.New("sample")
	b.Source(kafka.Source("in", serde.String, serde.String), stream.Disorder(5*time.Second)).
		Sample(time.Minute).
		To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.StartAt(start))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.SendAt(at(0), "k", "1")
	in.SendAt(at(30), "k", "3")
	in.SendAt(at(29), "k", "2") // not the latest
	in.SendAt(at(10), "j", "1")
	in.SendAt(at(61), "k", "4") // the watermark is at 56
	expect(t, "open", texts(out))
	d.Crash()
	in.SendAt(at(65), "j", "2")
	expect(t, "closed", texts(out), "j 1", "k 3")
	in.SendAt(at(59), "k", "late")
	in.End()
	expect(t, "end", texts(out), "j 2", "k 4")
}
