package kafka

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

// A broker may limit how long a login is good for. sarama logs in anew when it has something to send, so a connection with SASL is given
// to it now and then, and only between two requests.
func TestPipesGiveSaramaItsTurn(t *testing.T) {
	c := fake(t)
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(1)
	r.produce(&kgo.Record{Topic: topic, Value: []byte("v")})
	p, err := r.log.dialer.openPipe(r.ctx, r.brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.drop()
	var turns atomic.Int64
	c.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		turns.Add(1)
		return nil, nil, false
	})
	p.secured = true
	wishes := []wish{{&cursor{at: wire.TopicPartition{Topic: topic}}, 0, 1 << 20}}
	for i, due := range []bool{false, true, false} {
		turns.Store(0)
		p.renewed = time.Now()
		if due {
			p.renewed = time.Time{}
		}
		a, err := p.fetch(r.ctx, &r.log.buffers, wishes, 0)
		if err != nil || len(a.blocks[0].records) == 0 {
			t.Fatalf("request %d: %+v, %v", i, a, err)
		}
		a.buffer.release()
		if got := turns.Load() > 0; got != due {
			t.Errorf("request %d: sarama's turn %v, want %v", i, got, due)
		}
	}
}

// The memory of an answer is used again when the last batch that points into it is released, and not before.
func TestBuffersAreUsedAgain(t *testing.T) {
	var s buffers
	for _, n := range []int{0, 1, 1023, 1024, 1025, 5000, 1 << 20, 3<<20 + 1} {
		f := s.get(n)
		if len(f.b) != n || n > 4096 && cap(f.b) > n+n/4+1 {
			t.Errorf("%d bytes: length %d, capacity %d", n, len(f.b), cap(f.b))
		}
		f.hold()
		f.release()
		if g := s.get(n); g == f {
			t.Errorf("%d bytes: given out while it is held", n)
		}
		f.release()
	}
}
