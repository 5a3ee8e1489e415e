package kafka

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

// A tapped listener shows each produce request when it has come in, whether the broker has answered the one before or not.
type tapped struct {
	net.Listener
	show func(request []byte)
}

func (l tapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &tappedConn{Conn: c, show: l.show}, err
}

// A tappedConn is read by one goroutine at a time.
type tappedConn struct {
	net.Conn
	show func([]byte)
	came []byte
}

func (c *tappedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.came = append(c.came, b[:n]...)
	for len(c.came) >= 6 {
		size := 4 + (int(c.came[0])<<24 | int(c.came[1])<<16 | int(c.came[2])<<8 | int(c.came[3]))
		if len(c.came) < size {
			break
		}
		if c.came[4] == 0 && c.came[5] == byte(kmsg.Produce) {
			c.show(slices.Clone(c.came[4:size]))
		}
		c.came = c.came[size:]
	}
	return n, err
}

// Rule 1.3, too: while the broker has a partition's batch of n, none of n+1 is sent there. If n is refused for a moment it would come behind what
// was sent after it: the two ids are two producers, whose sequence numbers know nothing of each other.
func TestRule13OneBatchInFlight(t *testing.T) {
	var mu sync.Mutex
	var requests [][]byte
	first, second := make(chan struct{}), make(chan struct{})
	await := func(c chan struct{}, what string) {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatalf("%s has not come", what)
		}
	}
	show := func(q []byte) {
		mu.Lock()
		defer mu.Unlock()
		switch requests = append(requests, q); len(requests) {
		case 1:
			close(first)
		case 2:
			close(second)
		}
	}
	c := fake(t, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		return tapped{l, show}, err
	}))
	c.ControlKey(int16(kmsg.Produce), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() {
			select {
			case <-second:
			case <-t.Context().Done():
			}
		})
		return refuseProduce(q.(*kmsg.ProduceRequest), 6), nil, true
	})
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(2)
	r.tx.Close()
	tx := r.openWith(wire.WriterConfig{BatchBytes: 200})
	a := r.appender(tx, "t", 1)
	to := r.to(a, topic)
	to.Append(0, now(), nil, []byte("first"), nil)
	a.Cut(1)
	await(first, "the batch of checkpoint 1")
	want := []string{"first"}
	for i := range 20 { // full batches are ready before that of the other partition
		v := fmt.Sprintf("behind %02d%s", i, make([]byte, 100))
		to.Append(0, now(), nil, []byte(v), nil)
		want = append(want, v)
	}
	to.Append(1, now(), nil, []byte("elsewhere"), nil)
	a.Cut(2)
	await(second, "a request behind it")
	mu.Lock()
	if q := requests[1]; bytes.Contains(q, []byte("behind")) || !bytes.Contains(q, []byte("elsewhere")) {
		t.Errorf("the request that follows checkpoint 1's is %q", q)
	}
	mu.Unlock()
	r.flush(tx, 2)
	if got := r.values(r.read(topic, 0, 0, wire.ReadOptions{}), 21); !slices.Equal(got, want) {
		t.Errorf("partition 0 has %q", got)
	}
}
