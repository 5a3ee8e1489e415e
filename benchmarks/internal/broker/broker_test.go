package broker

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/kafkatest"
)

// start points the package at the test's broker.
func start(t *testing.T) (*kafkatest.Broker, *Broker, Load) {
	t.Helper()
	kafka := kafkatest.Start(t)
	t.Setenv("WEIR_KAFKA_BROKERS", strings.Join(kafka.Brokers(), ","))
	b, err := Start("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	load := Load{Topic: kafka.Name("in"), Partitions: 2, Records: 500, Keys: 50, Groups: 10}
	if err := b.Load(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	return kafka, b, load
}

// copyOf is record n of the load as it should come out.
func copyOf(l Load, n int64) *kafkatest.Record {
	value := make([]byte, ValueBytes)
	l.value(value, n)
	return &kafkatest.Record{Key: []byte(l.Key(n)), Value: value}
}

func TestLoadIsWhatItSays(t *testing.T) {
	kafka, b, load := start(t)
	if extra, err := b.VerifyCopies(t.Context(), load, load.Topic, false); err != nil || extra != 0 {
		t.Errorf("the input itself: %d extra, %v", extra, err)
	}
	groups := make(map[string]bool)
	for _, r := range kafka.ReadCommitted(load.Topic) {
		groups[string(r.Value[:7])] = true
	}
	if len(groups) != 10 {
		t.Errorf("%d groups, want 10", len(groups))
	}
}

// With Even each key comes once before any comes again.
func TestEvenKeys(t *testing.T) {
	l := Load{Keys: 10_000, Even: true}
	for from := int64(0); from < 3*l.Keys; from += l.Keys {
		seen := make(map[string]bool)
		for n := from; n < from+l.Keys; n++ {
			seen[l.Key(n)] = true
		}
		if len(seen) != int(l.Keys) {
			t.Errorf("%d keys among %d records from %d on", len(seen), l.Keys, from)
		}
	}
}

// What must be found: something twice, something changed, something that was never sent.
func TestVerifyCopiesFindsFaults(t *testing.T) {
	for name, fault := range map[string]func(l Load) *kafkatest.Record{
		"came out twice":   func(l Load) *kafkatest.Record { return copyOf(l, 7) },
		"came out changed": func(l Load) *kafkatest.Record { r := copyOf(l, 7); r.Value[50]++; return r },
		"was never sent": func(l Load) *kafkatest.Record {
			r := copyOf(l, 7)
			binary.BigEndian.PutUint64(r.Value[8:], 500)
			return r
		},
		"value of 3 bytes": func(Load) *kafkatest.Record { return kafkatest.KV("a", "abc") },
	} {
		t.Run(name, func(t *testing.T) {
			kafka, b, load := start(t)
			kafka.Produce(load.Topic, fault(load))
			if _, err := b.VerifyCopies(t.Context(), load, load.Topic, false); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("found %v, want %q", err, name)
			}
		})
	}
}

func TestVerifyCounts(t *testing.T) {
	kafka, b, load := start(t)
	counts := make(map[string]int64)
	out := kafka.Topic("out", 2)
	for n := range load.Records {
		key := load.Key(n)
		counts[key]++
		kafka.Produce(out, kafkatest.KV(key, strconv.FormatInt(counts[key], 10)))
	}
	if updates, err := b.VerifyCounts(t.Context(), load, out, load.Key, Decimal, false); err != nil || updates != load.Records {
		t.Errorf("right counts: %d updates, %v", updates, err)
	}
	key := load.Key(0)
	kafka.Produce(out, kafkatest.KV(key, strconv.FormatInt(counts[key]+1, 10)))
	if _, err := b.VerifyCounts(t.Context(), load, out, load.Key, Decimal, false); err == nil {
		t.Error("a count that is one too high was not found")
	}
}

func TestDecoders(t *testing.T) {
	for name, got := range map[string]func() (int64, error){
		"big endian": func() (int64, error) { return BigEndian([]byte{0, 0, 0, 0, 0, 0, 1, 2}) },
		"ordered":    func() (int64, error) { return Ordered([]byte{0x80, 0, 0, 0, 0, 0, 1, 2}) },
		"decimal":    func() (int64, error) { return Decimal([]byte("258")) },
	} {
		if n, err := got(); n != 258 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if _, err := BigEndian([]byte("258")); err == nil {
		t.Error("three bytes are no long")
	}
}

func TestPaceAndFollow(t *testing.T) {
	_, b, load := start(t)
	load.Topic += "-paced"
	if err := b.CreateTopic(t.Context(), load.Topic, 2); err != nil {
		t.Fatal(err)
	}
	if next, err := b.Pace(t.Context(), load, 100_000, 0, 400); next != 400 || err != nil {
		t.Fatalf("sent up to %d, %v", next, err)
	}
	if next, err := b.Pace(t.Context(), load, 50_000, 400, 1000); next != 1000 || err != nil {
		t.Fatalf("sent up to %d, %v", next, err)
	}
	seen := make(map[int64]bool)
	err := b.Follow(t.Context(), load.Topic, func(a Arrival) bool {
		if a.Latency < 0 {
			t.Errorf("record %d arrived %v before it was meant to be sent", a.N, -a.Latency)
		}
		seen[a.N] = true
		return len(seen) < 1000
	})
	if err != nil || len(seen) != 1000 {
		t.Errorf("followed %d records, %v", len(seen), err)
	}
}
