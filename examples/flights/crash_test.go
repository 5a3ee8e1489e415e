package main

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
)

// results runs the example on a broker whose topics of it are gone, and returns what it prints.
func results(t *testing.T, broker *kafkatest.Broker, crash bool) *Results {
	t.Helper()
	forget(t, broker)
	var out, progress bytes.Buffer
	o := options{brokers: broker.Brokers(), dir: t.TempDir(), partitions: 4, crash: crash, asJSON: true, interval: 20 * time.Millisecond}
	if err := run(t.Context(), o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	if n := bytes.Count(progress.Bytes(), []byte("kill -9")); crash && n == 0 {
		t.Errorf("nothing was killed:\n%s", progress.String())
	}
	var r Results
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// forget deletes what earlier runs have left: the example's topics and group have fixed names.
func forget(t *testing.T, broker *kafkatest.Broker) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx := context.Background()
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ours := func(name string) bool {
		if strings.HasPrefix(name, app) {
			return true
		}
		return slices.Contains([]string{topicByCarrier, topicPlanes, topicAirlines, topicWeather, topicByVisibility}, name)
	}
	for _, name := range topics.Names() {
		if ours(name) {
			if _, err := admin.DeleteTopics(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	broker.Eventually("the topics to be gone", func() bool {
		left, err := admin.ListTopics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range left.Names() {
			if ours(name) {
				return false
			}
		}
		return true
	})
	broker.Eventually("the group to be gone", func() bool {
		if _, err := admin.DeleteGroup(ctx, app); err != nil {
			groups, err := admin.ListGroups(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_, there := groups[app]
			return !there
		}
		return true
	})
}

// TestKillsChangeNothing kills the app's process at random moments: the totals are those of the run that nobody disturbed.
func TestKillsChangeNothing(t *testing.T) {
	broker := kafkatest.Start(t)
	want := results(t, broker, false)
	if want.Flights != 27004 || want.Dead != int64(len(malformed)) || want.Destinations["ATL"] != 1396 {
		t.Errorf("undisturbed: %d flights, %d dead letters, %d to Atlanta", want.Flights, want.Dead, want.Destinations["ATL"])
	}
	if known, not := want.aircraft(); known != 22_525 || not != 4_479 || want.Manufacturers["BOEING"] != 6_623 {
		t.Errorf("undisturbed: %d flights with their aircraft, %d without, %d of Boeing", known, not, want.Manufacturers["BOEING"])
	}
	if got := want.Visibility["under 1 mile"]; got != (Delays{880, 13_272}) || len(want.Airlines) != 16 {
		t.Errorf("undisturbed: in fog %v, %d airlines", got, len(want.Airlines))
	}
	if got := results(t, broker, true); !reflect.DeepEqual(got, want) {
		t.Errorf("killed: got %+v, want %+v", got, want)
	}
}
