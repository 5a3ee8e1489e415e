package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestMirror(t *testing.T) {
	d := streamtest.New(t, mirror("mirror", "a", "b", &kafka.Cluster{Brokers: []string{"there:9092"}}))
	in, out := d.In[[]byte, []byte]("a"), d.Out[[]byte, []byte]("b")
	in.Send([]byte("k"), []byte("v"))
	in.Delete([]byte("k"))
	if got := out.Read(); len(got) != 1 || string(got[0].Value) != "v" {
		t.Errorf("got %v", got)
	}
}

// When one app fails the other stops, and the error is the one that failed.
func TestOneDownAllDown(t *testing.T) {
	endless := func(yield func(stream.Record[string, int]) bool) {
		for yield(stream.Record[string, int]{Key: "k"}) {
		}
	}
	bad := errors.New("bad")
	var apps []*stream.App
	for name, err := range map[string]error{"good": nil, "failing": bad} {
		b := stream.New(name)
		b.Source(memory.From("in", endless)).ForEach(func(stream.Record[string, int]) error { return err })
		app, err := b.Build(stream.Config{})
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, app)
	}
	if err := together(context.Background(), apps); !errors.Is(err, bad) || strings.Count(err.Error(), "bad") != 1 {
		t.Errorf("got %v", err)
	}
}
