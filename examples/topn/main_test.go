package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestTopPages(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			d := streamtest.New(t, topology(), streamtest.Partitions(partitions), streamtest.StartAt(noon.Add(time.Hour)))
			clicks, top := d.In[string, Click]("clicks"), d.Out[struct{}, Top]("top")
			for i := range 12 { // page p is clicked p times in the first minute
				for n := range i {
					clicks.SendAt(noon.Add(time.Duration(n)*time.Second), fmt.Sprint("user", n), Click{fmt.Sprint("/", i)})
				}
			}
			clicks.SendAt(noon.Add(90*time.Second), "user", Click{"/next"})
			clicks.Advance(noon.Add(90 * time.Second))
			got := top.Read()
			if len(got) != 1 {
				t.Fatalf("%d minutes closed: %v", len(got), got)
			}
			var want []PageCount
			for i := 11; i > 1; i-- {
				want = append(want, PageCount{fmt.Sprint("/", i), int64(i)})
			}
			if m := got[0].Value; !m.Minute.Equal(noon) || !slices.Equal(m.Pages, want) {
				t.Errorf("got %v, want %v", m, want)
			}
			clicks.End()
			if got := top.Read(); len(got) != 1 || !slices.Equal(got[0].Value.Pages, []PageCount{{"/next", 1}}) {
				t.Errorf("at the end: %v", got)
			}
		})
	}
}
