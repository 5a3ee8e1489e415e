package main

import (
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }

func TestARetryOfADayIsDropped(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.StartAt(at(72)))
	in, out := d.In[[]byte, Payment]("payments"), d.Out[string, Payment]("payments-once")
	in.SendAt(at(0), []byte("a"), Payment{"p1", 100})
	in.SendAt(at(1), []byte("a"), Payment{"p2", 7})
	in.SendAt(at(2), []byte("a"), Payment{"p1", 100})
	d.Crash() // what was seen is seen still
	in.SendAt(at(24), []byte("a"), Payment{"p1", 100})
	in.SendAt(at(26), []byte("a"), Payment{"p2", 7})   // so long after it that it is another payment
	in.SendAt(at(48), []byte("a"), Payment{"p1", 100}) // a day after the last of them: it keeps being tried
	check(t, out, Payment{"p1", 100}, Payment{"p2", 7}, Payment{"p2", 7})
}

func TestARetryWithAnotherKeyIsDropped(t *testing.T) {
	const partitions = 4
	d := streamtest.New(t, topology(), streamtest.StartAt(at(72)), streamtest.Partitions(partitions))
	in, out := d.In[[]byte, Payment]("payments"), d.Out[string, Payment]("payments-once")
	for key := range byte(20) { // enough for several partitions
		in.SendAt(at(0), []byte{key}, Payment{"p1", 100})
	}
	in.SendAt(at(0), nil, Payment{"p1", 100})
	check(t, out, Payment{"p1", 100})
}

func check(t *testing.T, out *streamtest.Out[string, Payment], want ...Payment) {
	t.Helper()
	var got []Payment
	for _, r := range out.Read() {
		if r.Key != r.Value.ID {
			t.Errorf("payment %v has the key %q", r.Value, r.Key)
		}
		got = append(got, r.Value)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
