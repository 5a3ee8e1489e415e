package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A Cluster says where Kafka is. It goes into stream.Config: topologies name topics, not brokers. It holds no connection and
// must not be changed once an app uses it.
type Cluster struct {
	Brokers     []string      // host:port of some brokers, from which all are found. At least one
	ClientID    string        // how the app shows up in the broker's log and quotas. Default: the app's name
	TLS         *tls.Config   // nil is plain text. Certificates are verified against the broker's host name as usual
	SASL        *SASL         // nil is no authentication
	DialTimeout time.Duration // for one connection with its handshakes. Default 10 s
	StartWithin time.Duration // how long Connect tries before it gives up. Default 1 min
	Logger      *slog.Logger  // what the connections report: retries, throttling, moved leaders. Default: slog.Default()
}

// The mechanisms of SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// SASL holds credentials; it prints and logs without them.
type SASL struct {
	Mechanism string // Plain, ScramSHA256 or ScramSHA512
	User      string
	Password  string
}

// String, GoString and LogValue leave the password out.
func (s SASL) String() string               { return fmt.Sprintf("%s as %q", s.Mechanism, s.User) }
func (s SASL) GoString() string             { return s.String() }
func (s SASL) LogValue() slog.Value         { return slog.StringValue(s.String()) }
func (s SASL) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const (
	defaultDialTimeout = 10 * time.Second
	defaultStartWithin = time.Minute
	// requestTimeout bounds every answer. Brokers are asked to answer a produce request within less, so that a slow replica is told
	// apart from a dead connection.
	requestTimeout = 15 * time.Second
	produceTimeout = 10 * time.Second
)

// Connect is for the engine. It tries for StartWithin, and its error names the addresses and the last reason.
func (c *Cluster) Connect(ctx context.Context, app string) (wire.Log, error) {
	d, err := c.dialer(app)
	if err != nil {
		return nil, err
	}
	within := cmpOr(c.StartWithin, defaultStartWithin)
	start := time.Now()
	wait := newBackoff()
	dir := newDirectory(d, c.Brokers)
	var last error // the reason, rather than that time is up
	for {
		trying, cancel := context.WithDeadline(ctx, start.Add(within))
		err := dir.refresh(trying)
		cancel()
		if err == nil {
			return newLog(d, dir, app), nil
		}
		if ctx.Err() != nil {
			dir.close()
			return nil, fmt.Errorf("kafka: connecting to %s: %w", strings.Join(c.Brokers, ", "), context.Cause(ctx))
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		if errors.Is(err, wire.ErrRefused) || time.Since(start) >= within {
			dir.close()
			return nil, fmt.Errorf("kafka: no broker of %s could be used within %v: %w", strings.Join(c.Brokers, ", "), within, last)
		}
		d.log.Warn("kafka: cannot connect yet", "brokers", c.Brokers, "error", err)
		wait.sleep(ctx, start.Add(within))
	}
}

// dialer checks the description, all of it, and makes the settings that every connection of the app shares.
func (c *Cluster) dialer(app string) (*dialer, error) {
	var wrong []error
	if len(c.Brokers) == 0 {
		wrong = append(wrong, errors.New("kafka: Cluster.Brokers is empty: name at least one host:port"))
	}
	s := sarama.NewConfig()
	s.Version = sarama.MaxVersion // each connection then agrees with its broker on what both know
	s.ClientID = c.ClientID
	if s.ClientID == "" {
		s.ClientID = app
	}
	s.Net.ReadTimeout, s.Net.WriteTimeout = requestTimeout, requestTimeout
	if c.SASL != nil {
		wrong = append(wrong, c.SASL.apply(s))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("kafka: Cluster: %w", err)
	}
	log := c.Logger
	if log == nil {
		log = slog.Default()
	}
	return &dialer{settings: s, tls: c.TLS, timeout: cmpOr(c.DialTimeout, defaultDialTimeout), log: log}, nil
}

func (s *SASL) apply(c *sarama.Config) error {
	n := &c.Net.SASL
	n.Enable, n.Handshake, n.Version = true, true, sarama.SASLHandshakeV1
	n.User, n.Password, n.Mechanism = s.User, s.Password, sarama.SASLMechanism(s.Mechanism)
	switch s.Mechanism {
	case Plain:
	case ScramSHA256, ScramSHA512:
		mechanism := s.Mechanism
		n.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return newScram(mechanism) }
	default:
		return fmt.Errorf("kafka: SASL.Mechanism %q is not one of %s, %s, %s", s.Mechanism, Plain, ScramSHA256, ScramSHA512)
	}
	if s.User == "" || s.Password == "" {
		return errors.New("kafka: SASL needs a User and a Password")
	}
	return nil
}

func cmpOr(d, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return d
}
