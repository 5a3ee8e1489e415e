package kafkatest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/faults"
)

// A layerConn is a client's connection on its way to the broker.
type layerConn struct {
	l      *Layer
	to     *layerListener
	outer  net.Conn
	near   net.Conn
	client string // guarded by l.mu

	mu      sync.Mutex // of answers: what the layer says itself must not cut one in two
	waiting []answer   // requests at the broker, which answers in their order
}

// An answer is what becomes of one.
type answer struct {
	lose, kill bool
	fetch      *request // the request, where it is a Fetch
}

// readFrame reads a request or an answer, without its length.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame))), frame...))
	return err
}

// close ends both sides.
func (c *layerConn) close() {
	c.outer.Close()
	c.near.Close()
}

// up carries requests to the broker.
func (c *layerConn) up() {
	defer func() {
		c.close()
		c.l.mu.Lock()
		delete(c.l.conns, c)
		c.l.mu.Unlock()
	}()
	for {
		frame, err := readFrame(c.outer)
		if err != nil {
			return
		}
		q, err := parseRequest(frame)
		if err != nil {
			c.l.fault(err)
			return
		}
		c.l.mu.Lock()
		c.client = q.client
		c.l.mu.Unlock()
		if !c.request(q) {
			return
		}
	}
}

// request lets one request have its fate, and reports whether the connection goes on.
func (c *layerConn) request(q *request) bool {
	l := c.l
	if l.isKilled(q.client) {
		return false
	}
	if !l.watches(q.client) || !q.known {
		return c.pass(q, answer{})
	}
	l.arrive()
	f := l.verdict(faults.Request{Kind: q.kind, Client: q.client, Time: time.Now(), ID: q.id()})
	if f.Pass > 0 {
		select {
		case <-time.After(f.Pass / 1000):
		case <-l.closed:
		}
	}
	l.clean(f.Clean)
	switch {
	case f.Kill:
		l.Kill(q.client)
		return false
	case f.Refuse != nil:
		l.fake.ShufflePartitionLeaders()
		l.fake.RehashCoordinators()
	case f.Drop:
		return false
	case f.After > 0:
		l.postpone(f.After, q, c.to)
		return false
	}
	if f.Again > 0 {
		l.postpone(f.Again, q, c.to)
	}
	to := answer{lose: f.Lose, kill: f.KillDone}
	if said := l.instead(q, c.to); said != nil {
		return c.say(said, to)
	}
	return c.pass(q, to)
}

// pass sends a request to the broker.
func (c *layerConn) pass(q *request, to answer) bool {
	if _, ok := q.body.(*kmsg.FetchRequest); ok {
		to.fetch = q
	}
	c.mu.Lock()
	c.waiting = append(c.waiting, to)
	c.mu.Unlock()
	return writeFrame(c.near, q.frame) == nil
}

// say answers in the broker's place.
func (c *layerConn) say(frame []byte, to answer) bool {
	if to.kill {
		c.l.Kill(c.client)
	}
	if to.kill || to.lose {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return writeFrame(c.outer, frame) == nil
}

// down carries answers to the client.
func (c *layerConn) down() {
	defer c.close()
	for {
		frame, err := readFrame(c.near)
		if err != nil {
			return
		}
		c.mu.Lock()
		to := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		if to.fetch != nil {
			frame = c.l.withoutCleaned(to.fetch, frame)
		}
		if !c.say(frame, to) {
			return
		}
	}
}
