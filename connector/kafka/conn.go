package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
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
	buffers  buffers
	codecs   codecs
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
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, errClosed), errors.Is(err, wire.ErrRefused), code(err) != sarama.ErrNoError:
			return err
		default:
			return unreachable{err}
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
		case keep:
			return fmt.Errorf("kafka: broker %s: %w", addr, named(err))
		case !idle:
			return unreachable{fmt.Errorf("kafka: broker %s: %w", addr, named(err))}
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
