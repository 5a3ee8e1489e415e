package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"), // sarama's metrics: one for the process, for ever
	)
}

// brokers are a cluster of the test's own kind: embedded, or the real one that everything shares.
func brokers(t testing.TB) []string {
	t.Helper()
	return kafkatest.Start(t).Brokers()
}

func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A rig is what most tests need: a log, a client that we did not write, and names of their own.
type rig struct {
	testing.TB
	brokers []string
	log     *clusterLog
	other   *kgo.Client
	admin   *kadm.Client
	ctx     context.Context
}

func newRig(t testing.TB, addrs ...string) *rig {
	t.Helper()
	if len(addrs) == 0 {
		addrs = brokers(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &rig{TB: t, brokers: addrs, ctx: ctx, log: connect(t, addrs)}
	r.other = client(t, addrs)
	r.admin = kadm.NewClient(r.other)
	return r
}

func connect(t testing.TB, addrs []string) *clusterLog {
	t.Helper()
	c := &Cluster{Brokers: addrs, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil))}
	l, err := c.Connect(t.Context(), "weir-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*clusterLog)
}

type testWriter struct{ testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.Output().Write(p)
	return len(p), nil
}

func client(t testing.TB, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var topicChars = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// topic makes a topic of a name that no other test has.
func (r *rig) topic(partitions int32, configs ...string) string {
	r.Helper()
	name := fmt.Sprintf("%s-%d", topicChars.ReplaceAllString(r.Name(), "-"), time.Now().UnixNano())
	spec := wire.TopicSpec{Name: name, Partitions: partitions, Configs: make(map[string]string)}
	for i := 0; i < len(configs); i += 2 {
		spec.Configs[configs[i]] = configs[i+1]
	}
	if err := r.log.Create(r.ctx, spec); err != nil {
		r.Fatal(err)
	}
	return name
}

// produce writes with the other client.
func (r *rig) produce(records ...*kgo.Record) {
	r.Helper()
	if err := r.other.ProduceSync(r.ctx, records...).FirstErr(); err != nil {
		r.Fatal(err)
	}
}
