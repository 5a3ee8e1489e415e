package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A dialer opens connections with the settings of one Cluster.
type dialer struct {
	settings *sarama.Config
	tls      *tls.Config // nil is plain text
	timeout  time.Duration
	log      *slog.Logger
	often    sometimes // what may be said often
}

// sometimes lets a message through that many may cause at once: the first, and then one in a while of the same kind and broker, with
// how many were left out.
type sometimes struct {
	mu struct {
		sync.Mutex
		last map[string]time.Time
		left map[string]int
	}
}

const sometimesEvery = 5 * time.Second

func (s *sometimes) warn(log *slog.Logger, message, broker string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.last == nil {
		s.mu.last, s.mu.left = make(map[string]time.Time), make(map[string]int)
	}
	key := message + broker
	if time.Since(s.mu.last[key]) < sometimesEvery {
		s.mu.left[key]++
		return
	}
	log.Warn("kafka: "+message, append([]any{"broker", broker, "repeated", s.mu.left[key]}, args...)...)
	s.mu.last[key], s.mu.left[key] = time.Now(), 0
}

// A conn is a connection to one broker, with one user at a time: sarama holds a Broker's lock until the answer is there, so two
// users would wait for each other's long polls.
type conn struct {
	*sarama.Broker
	addr string
	tcp  *tcp
}

// open connects and authenticates, until ctx ends at most.
func (d *dialer) open(ctx context.Context, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	settings := *d.settings
	c := &conn{Broker: sarama.NewBroker(addr), addr: addr, tcp: &tcp{dialer: d, ctx: ctx}}
	settings.Net.Proxy.Enable, settings.Net.Proxy.Dialer = true, c.tcp
	if err := c.Open(&settings); err != nil {
		return nil, fmt.Errorf("kafka: broker %s: %w", addr, err)
	}
	stop := context.AfterFunc(ctx, c.tcp.kill)
	_, err := c.Connected() // waits for the handshakes
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		c.drop()
		return nil, fmt.Errorf("kafka: broker %s: %w", addr, named(err))
	}
	return c, nil
}

// during lets a request end with ctx. The caller calls stop when the answer is there; a connection whose request was ended is
// of no further use.
func (c *conn) during(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, c.tcp.kill)
}

// drop closes the connection, whatever it is doing.
func (c *conn) drop() {
	c.tcp.kill()
	_ = c.Close() // what is wrong with it was reported by the request that failed
}

// dial connects, and encrypts what it connected. sarama would do the latter itself and go on after a certificate that it refused.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil || d.tls == nil {
		return raw, err
	}
	settings := d.tls.Clone()
	if settings.ServerName == "" {
		if settings.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			raw.Close()
			return nil, err
		}
	}
	if settings.MinVersion == 0 {
		settings.MinVersion = tls.VersionTLS12
	}
	secure := tls.Client(raw, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return secure, nil
}

// A tcp is sarama's dialer for one connection, and keeps it, because only closing it ends a request that waits.
type tcp struct {
	*dialer
	ctx context.Context
	mu  struct {
		sync.Mutex
		raw    net.Conn
		killed bool
	}
}

// Dial is called by sarama, once.
func (t *tcp) Dial(network, addr string) (net.Conn, error) {
	raw, err := t.dial(t.ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.killed {
		raw.Close()
		return nil, net.ErrClosed
	}
	t.mu.raw = raw
	return raw, nil
}

func (t *tcp) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.killed = true
	if t.mu.raw != nil {
		t.mu.raw.Close()
	}
}

// A pool keeps idle connections for requests that are asked now and then. A connection in use is in nobody else's hands.
type pool struct {
	*dialer
	mu struct {
		sync.Mutex
		idle   map[string][]*conn
		closed bool
	}
}

// poolIdle is how many idle connections are kept to one broker.
const poolIdle = 2

// ask runs one request, or a few, on a connection to addr. An error closes the connection, unless it is the broker's own answer. A
// connection that was idle may have been closed by the broker meanwhile, so a request that fails on one is sent once more on a new one:
// all that go through a pool may be repeated.
func (p *pool) ask(ctx context.Context, addr string, request func(*sarama.Broker) error) error {
	for {
		c, idle, err := p.take(ctx, addr)
		if err != nil {
			return err
		}
		stop := c.during(ctx)
		err = request(c.Broker)
		ended := !stop()
		var answered sarama.KError
		keep := !ended && (err == nil || errors.As(err, &answered))
		if keep {
			p.put(c)
		} else {
			c.drop()
		}
		switch {
		case err == nil:
			return nil
		case ended:
			return fmt.Errorf("kafka: broker %s: %w", addr, context.Cause(ctx))
		case keep || !idle:
			return fmt.Errorf("kafka: broker %s: %w", addr, named(err))
		}
	}
}

// take is a connection that nobody uses, and whether it was there before.
func (p *pool) take(ctx context.Context, addr string) (c *conn, idle bool, err error) {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return nil, false, errClosed
	}
	if list := p.mu.idle[addr]; len(list) > 0 {
		c := list[len(list)-1]
		p.mu.idle[addr] = list[:len(list)-1]
		p.mu.Unlock()
		return c, true, nil
	}
	p.mu.Unlock()
	c, err = p.open(ctx, addr)
	return c, false, err
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed || len(p.mu.idle[c.addr]) >= poolIdle {
		c.drop()
		return
	}
	if p.mu.idle == nil {
		p.mu.idle = make(map[string][]*conn)
	}
	p.mu.idle[c.addr] = append(p.mu.idle[c.addr], c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	for _, idle := range p.mu.idle {
		for _, c := range idle {
			c.drop()
		}
	}
	p.mu.idle = nil
}

var errClosed = errors.New("kafka: the connection to the cluster is closed")

// A backoff waits longer each time, up to two seconds, with some chance in it so that many do not come back at once. It begins again
// with a short wait when it has not been needed for a while: what looks like success may fail again a moment later.
type backoff struct {
	next time.Duration
	last time.Time
}

const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 2 * time.Second
	backoffCalm  = 10 * time.Second
)

func newBackoff() *backoff { return &backoff{next: backoffFirst} }

// take is the next wait.
func (b *backoff) take() time.Duration {
	now := time.Now()
	if now.Sub(b.last) > backoffCalm {
		b.next = backoffFirst
	}
	d := b.next/2 + rand.N(b.next)
	b.next = min(2*b.next, backoffMost)
	b.last = now.Add(d)
	return d
}

// sleep waits, but not past a time (unless it is zero) or ctx's end, and reports whether ctx goes on.
func (b *backoff) sleep(ctx context.Context, until time.Time) bool {
	d := b.take()
	if !until.IsZero() {
		d = min(d, time.Until(until))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// named gives an error of the broker the name that it has in wire, if it has one there. The broker's own words stay in it.
func named(err error) error {
	var certificate *tls.CertificateVerificationError
	final := errors.As(err, &certificate) || errors.Is(err, sarama.ErrSASLAuthenticationFailed) // which sarama wraps in its own way
	if final && !errors.Is(err, wire.ErrRefused) {
		return fmt.Errorf("%w: %w", wire.ErrRefused, err)
	}
	var k sarama.KError
	if !errors.As(err, &k) {
		return err
	}
	switch k {
	case sarama.ErrUnknownTopicOrPartition:
		return fmt.Errorf("%w: %w", wire.ErrNoTopic, err)
	case sarama.ErrOffsetOutOfRange:
		return fmt.Errorf("%w: %w", wire.ErrOffsetGone, err)
	case sarama.ErrProducerFenced, sarama.ErrInvalidProducerEpoch, sarama.ErrInvalidProducerIDMapping, sarama.ErrFencedInstancedId:
		return fmt.Errorf("%w: %w", wire.ErrFenced, err)
	case sarama.ErrIllegalGeneration, sarama.ErrUnknownMemberId:
		return fmt.Errorf("%w: %w", wire.ErrGeneration, err)
	case sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrSASLAuthenticationFailed, sarama.ErrUnsupportedSASLMechanism,
		sarama.ErrIllegalSASLState, sarama.ErrPolicyViolation, sarama.ErrInvalidConfig, sarama.ErrInvalidPartitions,
		sarama.ErrInvalidReplicationFactor, sarama.ErrInvalidTopic, sarama.ErrUnsupportedVersion, sarama.ErrInvalidTransactionTimeout,
		sarama.ErrInvalidGroupId, sarama.ErrInvalidSessionTimeout, sarama.ErrOffsetMetadataTooLarge,
		sarama.ErrMessageSizeTooLarge, sarama.ErrMessageSetSizeTooLarge, sarama.ErrInvalidTimestamp, sarama.ErrInvalidRecord:
		return fmt.Errorf("%w: %w", wire.ErrRefused, err)
	}
	return err
}

// code is the broker's error in err, or ErrNoError.
func code(err error) sarama.KError {
	var k sarama.KError
	errors.As(err, &k)
	return k
}
