package kafkatest

import (
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/internal/faults"
)

// A Layer lies between the embedded broker and its clients and lets a judge decide what becomes of requests. It sees the bytes of Kafka's
// protocol, so what is tested behind it is the whole client: connections break in the middle of a request, answers never come, a request
// that was given up arrives in the time of the next transaction.
//
// Requests are judged of clients whose id begins with Judged; the helpers of this package are left alone. Of a fate, Refuse moves leaders
// and coordinators to other nodes, which refuses for a while what is sent to the old ones, and Pass holds a request up for a thousandth of
// its time: a broker's clock cannot be moved. Lost requests and answers end the connection, which is how a client learns of them before its
// timeout.
//
// It also adds what the embedded broker lacks: markers that are written after the answer to a commit, and refusals of offset metadata
// and of timestamps.
type Layer struct {
	Judged string

	judge  faults.Judge
	fake   *kfake.Cluster
	closed chan struct{}
	wg     sync.WaitGroup

	owners sync.Mutex // held while an id changes hands, begins a transaction, or has a commit answered: one sees what the other did
	dirty  bool       // retention and compaction are due; guarded by owners

	releasing sync.Mutex // held while a held commit goes to the broker: the next one waits for it

	mu       sync.Mutex
	requests int
	late     []late
	held     map[string]*held // commits without markers, by transactional id
	txns     map[string]*txn
	wrote    map[place]bool  // partitions that were in transactions
	cleaned  map[place]int64 // where compacted ones are clean up to
	conns    map[*layerConn]bool
	killed   map[string]bool
	kills    chan string
	nodes    []*layerListener
	wrong    []error
}

// late is a request to be forwarded when enough others have come.
type late struct {
	at int
	q  *request
	to *layerListener
}

// NewLayer makes a layer for one broker.
func NewLayer(judged string, j faults.Judge) *Layer {
	return &Layer{
		Judged: judged, judge: j, closed: make(chan struct{}), kills: make(chan string, 64),
		held: map[string]*held{}, txns: map[string]*txn{}, wrote: map[place]bool{}, cleaned: map[place]int64{}, conns: map[*layerConn]bool{}, killed: map[string]bool{},
	}
}

// Behind puts the embedded broker behind a layer. A real one has none.
func Behind(l *Layer) Option { return func(s *settings) { s.layer = l } }

// Kills tells the ids of clients that a fate has killed: their connections are cut, and will be whenever they open another. Whoever runs
// them ends what is left of them, and goes on under another id.
func (l *Layer) Kills() <-chan string { return l.kills }

// Kill kills a client as a fate does.
func (l *Layer) Kill(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killed[client] {
		return
	}
	l.killed[client] = true
	for c := range l.conns {
		if c.client == client {
			c.close()
		}
	}
	select {
	case l.kills <- client:
	default: // nobody listens
	}
}

// Quiet has everything pass from now on, and what was held up happen.
func (l *Layer) Quiet() {
	l.mu.Lock()
	l.judge = nil
	due := l.late
	l.late = nil
	l.mu.Unlock()
	for _, d := range due {
		l.forward(d)
	}
	for l.release(nil) {
	}
}

// arrive counts a request and lets those come whose turn it is.
func (l *Layer) arrive() {
	l.mu.Lock()
	l.requests++
	var due, rest []late
	for _, d := range l.late {
		if d.at <= l.requests {
			due = append(due, d)
		} else {
			rest = append(rest, d)
		}
	}
	l.late = rest
	at := l.requests
	l.mu.Unlock()
	for _, d := range due {
		l.forward(d)
	}
	l.release(func(h *held) bool { return h.at <= at || time.Now().After(h.by) })
}

// postpone forwards a request when n others have come.
func (l *Layer) postpone(n int, q *request, to *layerListener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, late{l.requests + n, q, to})
}

// forward sends a request over a connection of its own. Nobody waits for its answer.
func (l *Layer) forward(d late) {
	if l.instead(d.q, d.to) == nil {
		_, _ = d.to.ask(d.q.frame)
	}
}

// verdict asks the judge.
func (l *Layer) verdict(q faults.Request) faults.Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.judge == nil {
		return faults.Fate{}
	}
	return l.judge.Judge(q)
}

// watches reports whether a client's requests are judged.
func (l *Layer) watches(client string) bool { return strings.HasPrefix(client, l.Judged) }

func (l *Layer) isKilled(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed[client]
}

// close ends everything and waits for it.
func (l *Layer) close() {
	close(l.closed)
	l.mu.Lock()
	for _, ln := range l.nodes {
		ln.Close()
	}
	for c := range l.conns {
		c.close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// A layerListener is where one node of the broker gets its connections from.
type layerListener struct {
	net.Listener
	l     *Layer
	conns chan net.Conn
}

// listen is the embedded broker's way to listen.
func (l *Layer) listen(network, address string) (net.Listener, error) {
	inner, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	ln := &layerListener{inner, l, make(chan net.Conn)}
	l.mu.Lock()
	l.nodes = append(l.nodes, ln)
	l.mu.Unlock()
	l.wg.Go(ln.run)
	return ln, nil
}

// run takes clients' connections.
func (ln *layerListener) run() {
	for {
		outer, err := ln.Listener.Accept()
		if err != nil {
			return
		}
		near, far := net.Pipe()
		c := &layerConn{l: ln.l, to: ln, outer: outer, near: near}
		ln.l.mu.Lock()
		ln.l.conns[c] = true
		ln.l.mu.Unlock()
		if !ln.hand(far) {
			c.close()
			return
		}
		ln.l.wg.Go(c.up)
		ln.l.wg.Go(c.down)
	}
}

// hand gives the broker a connection.
func (ln *layerListener) hand(far net.Conn) bool {
	select {
	case ln.conns <- far:
		return true
	case <-ln.l.closed:
		return false
	}
}

// Accept is called by the broker.
func (ln *layerListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.conns:
		return c, nil
	case <-ln.l.closed:
		return nil, net.ErrClosed
	}
}

// ask sends a request to the node over a connection of its own, and returns the answer.
func (ln *layerListener) ask(frame []byte) ([]byte, error) {
	near, far := net.Pipe()
	defer near.Close()
	if !ln.hand(far) {
		return nil, net.ErrClosed
	}
	stop := make(chan struct{})
	defer close(stop)
	ln.l.wg.Go(func() {
		select {
		case <-stop:
		case <-ln.l.closed:
			near.Close()
		}
	})
	if err := writeFrame(near, frame); err != nil {
		return nil, err
	}
	return readFrame(near)
}
