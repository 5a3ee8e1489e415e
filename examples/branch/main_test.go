package main

import (
	"testing"

	"github.com/weirstream/weir/stream/streamtest"
)

func TestBranches(t *testing.T) {
	d := streamtest.New(t, onKafka())
	in := d.In[string, Event]("events")
	amounts, rest := d.Out[string, int64]("amounts"), d.Out[string, Event]("rest")
	in.Send("test-1", Placed{1})
	in.Send("a", Placed{995})
	in.Send("a", Refunded{100})
	in.Send("b", Cancelled{"too late"})
	if got := amounts.Read(); len(got) != 2 || got[0].Value != 995 || got[1].Value != -100 {
		t.Errorf("amounts: %v", got)
	}
	if got := rest.Read(); len(got) != 1 || got[0].Value != (Cancelled{"too late"}) {
		t.Errorf("rest: %v", got)
	}
}

func TestAnUnknownLetterStopsTheApp(t *testing.T) {
	d := streamtest.New(t, onKafka())
	d.In[string, Event]("events").SendBytes([]byte("a"), []byte("x{}"))
	if d.Err() == nil {
		t.Error("it was accepted")
	}
}
