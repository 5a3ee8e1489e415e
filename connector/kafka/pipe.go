package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A pipe is a connection for records. sarama dials, encrypts and authenticates it; the requests that carry records then go past sarama,
// which would make an object of each record (docs/adr/0031). While such a request is under way nothing else may use the connection.
type pipe struct {
	*conn
	raw      net.Conn
	client   string
	sends    int32     // correlation id of the next request
	throttle time.Time // the broker wants no request before
	secured  bool      // by SASL, which may want to be renewed
	renewed  time.Time
	head     [8]byte
}

const (
	keyProduce, produceVersion = 0, 8
	keyFetch, fetchVersion     = 1, 11
	// answerMost is the greatest answer that is believed to be one.
	answerMost = 256 << 20
	// renewEvery is how often a connection with SASL is given to sarama for a moment.
	renewEvery = time.Second
	// joinedBytes is up to which size what makes a request is copied into one piece: many small writes cost more.
	joinedBytes = 16 << 10
)

func (d *dialer) openPipe(ctx context.Context, addr string) (*pipe, error) {
	c, err := d.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := speaks(c.Broker); err != nil {
		c.drop()
		return nil, fmt.Errorf("kafka: broker %s: %w", addr, err)
	}
	return &pipe{conn: c, raw: c.tcp.connection(), client: d.settings.ClientID, secured: d.settings.Net.SASL.Enable, renewed: time.Now()}, nil
}

// speaks checks that the broker knows the two requests in the versions that are used: it would close the connection without a word.
func speaks(b *sarama.Broker) error {
	answer, err := b.ApiVersions(&sarama.ApiVersionsRequest{})
	if err != nil {
		return err
	}
	for _, k := range answer.ApiKeys {
		want, ok := map[int16]int16{keyProduce: produceVersion, keyFetch: fetchVersion}[k.ApiKey]
		if ok && (k.MinVersion > want || k.MaxVersion < want) {
			return fmt.Errorf("request %d is known in versions %d to %d, and %d is needed: %w", k.ApiKey, k.MinVersion, k.MaxVersion, want, wire.ErrRefused)
		}
	}
	return nil
}

// connection is what was dialled.
func (t *tcp) connection() net.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.raw
}

// renewDue reports whether renew should be called when no request is under way.
func (p *pipe) renewDue() bool { return p.secured && time.Since(p.renewed) >= renewEvery }

// renew lets sarama send a request of its own: it authenticates anew before, when the broker has limited how long a login is good for.
func (p *pipe) renew() error {
	p.renewed = time.Now()
	_, err := p.ApiVersions(&sarama.ApiVersionsRequest{})
	return err
}

// begin is the head of a request. Its length is set by send.
func (p *pipe) begin(b []byte, key, version int16) []byte {
	b = append(b[:0], 0, 0, 0, 0)
	b = appendInt16(b, key)
	b = appendInt16(b, version)
	b = appendInt32(b, p.sends)
	return appendString(b, p.client)
}

// send writes a request, whose first part came from begin, and returns what its answer will be known by. The parts are not used any more
// when it returns.
func (p *pipe) send(ctx context.Context, parts net.Buffers) (id int32, err error) {
	if err := p.obey(ctx); err != nil {
		return 0, err
	}
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	binary.BigEndian.PutUint32(parts[0], uint32(size-4))
	if err := p.raw.SetWriteDeadline(time.Now().Add(requestTimeout)); err != nil {
		return 0, err
	}
	if len(parts) > 1 && size <= joinedBytes {
		one := make([]byte, 0, size)
		for _, b := range parts {
			one = append(one, b...)
		}
		parts = net.Buffers{one}
	}
	if len(parts) == 1 {
		_, err = p.raw.Write(parts[0])
	} else {
		_, err = parts.WriteTo(p.raw)
	}
	p.sends++
	return p.sends - 1, err
}

// obey waits while the broker throttles: it would not read on before.
func (p *pipe) obey(ctx context.Context) error {
	wait := time.Until(p.throttle)
	if wait <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

// receive reads the answer to a request into memory that room provides.
func (p *pipe) receive(id int32, room func(n int) []byte) ([]byte, error) {
	if err := p.raw.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(p.raw, p.head[:]); err != nil {
		return nil, err
	}
	size, got := int64(binary.BigEndian.Uint32(p.head[:]))-4, int32(binary.BigEndian.Uint32(p.head[4:]))
	if got != id || size < 0 || size > answerMost {
		return nil, fmt.Errorf("broker %s answers request %d of %d bytes where %d was asked", p.addr, got, size, id)
	}
	b := room(int(size))
	_, err := io.ReadFull(p.raw, b)
	return b, err
}
