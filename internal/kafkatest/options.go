package kafkatest

import "github.com/twmb/franz-go/pkg/kfake"

type settings struct {
	nodes      int
	door       Door
	properties []string
	fake       []kfake.Opt
	layer      *Layer
}

// own says whether a real cluster must be started for this test alone.
func (s settings) own() bool { return s.nodes > 1 || len(s.properties) > 0 }

// An Option changes what [Start] starts.
type Option func(*settings)

// Nodes asks for a cluster of n nodes, 1 or 3. With a real Kafka it is the test's own, so that nodes may be killed.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Through says which listener the test's clients use. Default Plain.
func Through(d Door) Option { return func(s *settings) { s.door = d } }

// Property sets a broker property of a real Kafka, which becomes the test's own. The embedded broker ignores it: give
// it what it needs with Embedded.
func Property(key, value string) Option {
	return func(s *settings) { s.properties = append(s.properties, key+"="+value) }
}

// Embedded passes options to the embedded broker; a real one ignores them.
func Embedded(opts ...kfake.Opt) Option {
	return func(s *settings) { s.fake = append(s.fake, opts...) }
}

// A Door is a kind of listener.
type Door int

// The doors: neither encrypted nor authenticated, authenticated, encrypted, both.
const (
	Plain Door = iota
	SASL
	TLS
	SASLTLS
)

func (d Door) sasl() bool { return d == SASL || d == SASLTLS }
func (d Door) tls() bool  { return d == TLS || d == SASLTLS }

// variable is where scripts/kafka says the addresses of such a listener.
func (d Door) variable() string {
	return [...]string{"WEIR_KAFKA_BROKERS", "WEIR_KAFKA_SASL", "WEIR_KAFKA_TLS", "WEIR_KAFKA_SASL_TLS"}[d]
}
