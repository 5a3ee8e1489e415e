package main

import (
	"testing"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestRoutes(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.Partitions(4))
	in, old := d.In[string, Event]("events"), d.In[string, Event]("events-old")
	acme, other := d.Out[string, Event]("events-acme"), d.Out[string, Event]("events-other")
	in.Send("a", Event{"acme"})
	old.Send("b", Event{"acme"})
	in.Send("c", Event{})
	in.SendRecord(stream.Record[string, Event]{Key: "d", Value: Event{"acme"}, Time: d.Now(), Headers: connector.Headers{{Key: "synthetic"}}})

	got := map[string]string{}
	for _, r := range acme.Read() {
		got[r.Key], _ = r.Headers.Get("from")
		if want := int32(byKey(&r, 4)); r.Origin.Partition != want {
			t.Errorf("%s is on partition %d, want %d", r.Key, r.Origin.Partition, want)
		}
	}
	if len(got) != 2 || got["a"] != "events" || got["b"] != "events-old" {
		t.Errorf("acme: %v", got)
	}
	if rest := other.Read(); len(rest) != 1 || rest[0].Key != "c" {
		t.Errorf("other: %v", rest)
	}
}
