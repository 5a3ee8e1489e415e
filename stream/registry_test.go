package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry/registrytest"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// A flaky registry can be down.
type flaky struct {
	*registrytest.Registry
	down  bool
	asked int // while it was down
}

func (f *flaky) Schema(ctx context.Context, id int) (serde.Schema, error) {
	if f.down {
		f.asked++
		return serde.Schema{}, fmt.Errorf("flaky: %w", serde.ErrRegistryUnavailable)
	}
	return f.Registry.Schema(ctx, id)
}

type reading struct {
	Sensor  string  `avro:"sensor"`
	Celsius float64 `avro:"celsius"`
}

// The registry goes down just when a record with a new schema arrives. The task waits: nothing is rejected, records behind it stay
// behind it, and all of them arrive when the registry is back.
func TestARegistryThatIsDownPausesTheTask(t *testing.T) {
	reg := &flaky{Registry: registrytest.New()}
	b := stream.New("outage")
	dead := stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes))
	b.Source(kafka.Source("readings", serde.String, avro.Registered[reading](avro.Name("Reading"))), stream.OnError(dead)).
		MapValues(func(r reading) string { return fmt.Sprint(r.Celsius) }).
		To(kafka.Sink("celsius", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Registry = reg }))
	in := d.In[string, reading]("readings")
	out := d.Out[string, string]("celsius")
	letters := d.Out[[]byte, []byte]("dead")

	in.Send("roof", reading{"roof", 1})
	if got := out.Read(); len(got) != 1 || got[0].Value != "1" {
		t.Fatalf("before the outage: %v", got)
	}
	type detailed struct {
		Sensor   string  `avro:"sensor"`
		Celsius  float64 `avro:"celsius"`
		Humidity float64 `avro:"humidity,default=0"`
	}
	newer, err := serde.Bind(avro.Registered[detailed](avro.Name("Reading")), serde.Binding{Topic: "readings", Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	value, err := newer.Append(nil, detailed{"roof", 2, 80})
	if err != nil {
		t.Fatal(err)
	}
	reg.down = true
	in.SendBytes([]byte("roof"), value)
	in.Send("roof", reading{"roof", 3})
	for range 5 {
		d.Advance(time.Second)
		if got := out.Read(); len(got) != 0 {
			t.Fatalf("during the outage: %v", got)
		}
	}
	if reg.asked == 0 || reg.asked > 100 {
		t.Errorf("the registry was asked %d times in five seconds", reg.asked)
	}
	reg.down = false
	d.Advance(time.Minute)
	if got := out.Read(); len(got) != 2 || got[0].Value != "2" || got[1].Value != "3" {
		t.Errorf("after the outage: %v", got)
	}
	if got := letters.Read(); len(got) != 0 {
		t.Errorf("dead letters: %v", got)
	}
}

// A schema that nobody registered is the record's fault. The letter has the record's time: topics drop what is old.
func TestAnUnknownSchemaIsADeadLetter(t *testing.T) {
	b := stream.New("unknown")
	dead := stream.DeadLetter(kafka.Sink("dead", serde.Bytes, serde.Bytes))
	b.Source(kafka.Source("readings", serde.String, avro.Registered[reading]()), stream.OnError(dead)).
		To(kafka.Sink("copy", serde.String, avro.Registered[reading]()))
	d := streamtest.New(t, b)
	in := d.In[string, reading]("readings")
	out := d.Out[string, reading]("copy")
	letters := d.Out[[]byte, []byte]("dead")
	sent := d.Now()
	in.SendBytes([]byte("roof"), []byte{0, 0, 0, 0, 99, 2})
	d.Advance(time.Hour)
	in.Send("roof", reading{"roof", 1})
	if got := letters.Read(); len(got) != 1 || string(got[0].Value) != "\x00\x00\x00\x00\x63\x02" || !got[0].Time.Equal(sent) {
		t.Errorf("dead letters: %v", got)
	}
	if got := out.Read(); len(got) != 1 || got[0].Value.Celsius != 1 {
		t.Errorf("out: %v", got)
	}
}
