// Package kafkatest gives tests a Kafka: an embedded one by default, a real Apache Kafka with WEIR_KAFKA=real.
//
// It looks at topics, groups and transactions through franz-go, a client that weir did not write and does not use: what
// a test reads back here is what anybody's consumer would read. It is imported by tests only.
//
// The embedded broker belongs to one test. The real one is shared by all tests of a run (scripts/kafka starts it, and
// WEIR_KAFKA_BROKERS says where it is), so every topic, group and transactional id of a test must come from
// [Broker.Name]. A test that kills nodes or needs broker properties of its own asks for them with [Nodes] or
// [Property] and gets a real cluster of its own.
//
// Methods fail the test on errors, so they must be called from the test's goroutine.
package kafkatest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Patience bounds every wait in this package. It is no expectation: a test that meets it has hung.
const Patience = 60 * time.Second

// User and Password are the credentials that secure listeners accept, by PLAIN and by both SCRAMs.
const (
	User     = "weir"
	Password = "weir-secret"
)

// A Broker is a test's Kafka, of one node or more.
type Broker struct {
	t     testing.TB
	addrs []string
	tls   *tls.Config    // for clients; nil without TLS
	fake  *kfake.Cluster // nil with a real broker
	dir   string         // the folder that scripts/kafka knows a real one by
	own   bool           // whether the real cluster is this test's alone

	client *kgo.Client
	admin  *kadm.Client
	ctx    context.Context // ends with the test
}

// Real says whether tests run against a real Apache Kafka.
func Real() bool { return os.Getenv("WEIR_KAFKA") == "real" }

// Start returns a broker that is ready. It goes away with the test.
func Start(t testing.TB, options ...Option) *Broker {
	t.Helper()
	s := settings{nodes: 1}
	for _, o := range options {
		o(&s)
	}
	b := &Broker{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	b.ctx = ctx
	t.Cleanup(cancel)
	if Real() {
		b.startReal(s)
	} else {
		b.startFake(s)
	}
	b.connect(s)
	return b
}

// connect opens the client that the helpers use, by the same door as the test's own clients.
func (b *Broker) connect(s settings) {
	b.t.Helper()
	opts := []kgo.Opt{
		kgo.SeedBrokers(b.addrs...),
		kgo.RecordPartitioner(placed{}),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryTimeout(Patience),
	}
	if b.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(b.tls))
	}
	if s.door.sasl() {
		opts = append(opts, kgo.SASL(plain.Auth{User: User, Pass: Password}.AsMechanism()))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		b.t.Fatalf("kafkatest: %v", err)
	}
	b.t.Cleanup(client.Close)
	b.client, b.admin = client, kadm.NewClient(client)
}

// Brokers are the addresses to give to a client.
func (b *Broker) Brokers() []string { return b.addrs }

// TLS is what a client needs to trust the broker, nil unless the test asked for a [Door] with TLS.
func (b *Broker) TLS() *tls.Config { return b.tls }

// Fake is the embedded broker with its control functions and faults, nil with a real one. Tests that need it begin
// with [Broker.NeedFake].
func (b *Broker) Fake() *kfake.Cluster { return b.fake }

// NeedFake is Broker.NeedFake for a test that asks before it starts one: a real cluster of its own takes seconds.
func NeedFake(t testing.TB) {
	t.Helper()
	if Real() {
		t.Skip("needs the embedded broker's faults: runs without WEIR_KAFKA=real")
	}
}

// NeedFake ends the test, visibly skipped, when the broker is a real one: those cannot be told to fail.
func (b *Broker) NeedFake() *kfake.Cluster {
	b.t.Helper()
	NeedFake(b.t)
	return b.fake
}

// NeedReal ends the test, visibly skipped, when the broker is the embedded one: it lacks what the test is about.
func NeedReal(t testing.TB) {
	t.Helper()
	if !Real() {
		t.Skip("needs a real Apache Kafka: runs with WEIR_KAFKA=real, see make test-real")
	}
}

// Name makes a name that no other test of this or any other run uses: for topics, groups, apps and instances.
func (b *Broker) Name(base string) string {
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails
	return strings.Trim(base, "-") + "-" + hex.EncodeToString(salt[:])
}

// within is the context of one helper call.
func (b *Broker) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, Patience)
}
