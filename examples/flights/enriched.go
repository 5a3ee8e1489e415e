package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

// enriched are the committed rows of the joins with tables.
type enriched struct {
	Manufacturers map[string]int64  `json:"manufacturers"`
	Airlines      map[string]int64  `json:"airlines"`
	Visibility    map[string]Delays `json:"visibility"` // of departures
}

func (e *enriched) read(ctx context.Context, brokers []string) error {
	for topic, to := range map[string]*map[string]int64{topicByManufacturer: &e.Manufacturers, topicByAirline: &e.Airlines} {
		rows := map[string]int64{}
		*to = rows
		if err := each(ctx, brokers, topic, func(rec *kgo.Record) (err error) {
			rows[string(rec.Key)], err = serde.Int64.Decode(rec.Value)
			return err
		}); err != nil {
			return err
		}
	}
	e.Visibility = map[string]Delays{}
	return each(ctx, brokers, topicByVisibility, func(rec *kgo.Record) error {
		var d Delays
		err := json.Unmarshal(rec.Value, &d)
		e.Visibility[string(rec.Key)] = d
		return err
	})
}

// aircraft is how many flights have their aircraft in the file, and how many have not.
func (e *enriched) aircraft() (known, not int64) {
	for manufacturer, n := range e.Manufacturers {
		if manufacturer == unknown {
			not += n
		} else {
			known += n
		}
	}
	return known, not
}

func (e *enriched) print(w io.Writer) {
	known, not := e.aircraft()
	fmt.Fprintf(w, "\n%d flights have their aircraft in the file, %d have not\n\n  %-30s %9s\n", known, not, "manufacturer", "flights")
	by := slices.SortedFunc(maps.Keys(e.Manufacturers), func(a, b string) int {
		return cmp.Or(cmp.Compare(e.Manufacturers[b], e.Manufacturers[a]), cmp.Compare(a, b))
	})
	by = slices.DeleteFunc(by, func(m string) bool { return m == unknown })
	for _, m := range by[:min(5, len(by))] {
		fmt.Fprintf(w, "  %-30s %9d\n", m, e.Manufacturers[m])
	}
	fmt.Fprintf(w, "\n  %-16s %9s %24s\n", "visibility", "departed", "average delay, minutes")
	for _, class := range slices.Sorted(maps.Keys(e.Visibility)) {
		d := e.Visibility[class]
		fmt.Fprintf(w, "  %-16s %9d %24.1f\n", class, d.Flights, float64(d.Minutes)/float64(d.Flights))
	}
}
