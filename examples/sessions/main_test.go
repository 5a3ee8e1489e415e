package main

import (
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func TestVisits(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.StartAt(at(24*60)))
	views, visits, late := d.In[string, View]("views"), d.Out[string, Row]("visits"), d.Out[string, View]("views-late")
	views.SendAt(at(0), "ann", View{"/"})
	views.SendAt(at(20), "ann", View{"/shoes"})
	views.SendAt(at(50), "ann", View{"/"}) // exactly half an hour later: the same visit
	views.SendAt(at(70), "bob", View{"/"})
	if got := visits.Read(); len(got) != 0 {
		t.Fatalf("a visit ended while it went on: %v", got)
	}
	d.Crash()
	views.SendAt(at(82), "bob", View{"/hats"}) // ann's last view + gap + grace has passed
	got := visits.Read()
	want := []Row{{"ann", at(0), at(50).Add(time.Millisecond), "/", 3, 2}}
	if rows := values(got); !slices.Equal(rows, want) {
		t.Fatalf("got %v, want %v", rows, want)
	}
	views.SendAt(at(45), "ann", View{"/late"}) // that visit is final
	if got := late.Read(); len(got) != 1 || got[0].Key != "ann" || got[0].Value.Page != "/late" {
		t.Errorf("late: %v", got)
	}
	views.End()
	want = []Row{{"bob", at(70), at(82).Add(time.Millisecond), "/", 2, 2}}
	if rows := values(visits.Read()); !slices.Equal(rows, want) {
		t.Errorf("at the end: got %v, want %v", rows, want)
	}
}

// A view that comes late, but in time, makes two visits one.
func TestAViewConnectsTwoVisits(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.StartAt(at(24*60)))
	views, visits := d.In[string, View]("views"), d.Out[string, Row]("visits")
	views.SendAt(at(0), "ann", View{"/a"})
	views.SendAt(at(31), "ann", View{"/b"}) // another visit, so far
	views.SendAt(at(15), "ann", View{"/c"})
	views.End()
	want := []Row{{"ann", at(0), at(31).Add(time.Millisecond), "/a", 3, 3}}
	if rows := values(visits.Read()); !slices.Equal(rows, want) {
		t.Errorf("got %v, want %v", rows, want)
	}
}

func values(records []stream.Record[string, Row]) (rows []Row) {
	for _, r := range records {
		r.Value.From, r.Value.To = r.Value.From.UTC(), r.Value.To.UTC()
		rows = append(rows, r.Value)
	}
	return rows
}
