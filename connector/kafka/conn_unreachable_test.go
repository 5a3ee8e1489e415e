package kafka

import (
	"errors"
	"io"
	"testing"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// A connection that breaks, or cannot be made, is one to a cluster that cannot be reached. What a broker answers is not.
func TestUnreachable(t *testing.T) {
	alive := kafkatest.Start(t).Brokers()[0]
	d, err := (&Cluster{Brokers: []string{alive}}).dialer("app")
	if err != nil {
		t.Fatal(err)
	}
	p := &pool{dialer: d}
	defer p.close()
	for name, c := range map[string]struct {
		addr   string
		answer error
		want   bool
	}{
		"nobody listens":       {"127.0.0.1:1", nil, true},
		"the connection broke": {alive, io.EOF, true},
		"the broker says no":   {alive, sarama.ErrNotController, false},
	} {
		err := p.ask(t.Context(), c.addr, func(*sarama.Broker) error { return c.answer })
		if err == nil || errors.Is(err, wire.ErrUnreachable) != c.want {
			t.Errorf("%s: %v, unreachable %v", name, err, !c.want)
		}
		if c.answer != nil && !errors.Is(err, c.answer) {
			t.Errorf("%s: %v does not say so", name, err)
		}
	}
}
