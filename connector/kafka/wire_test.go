package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/internal/wire/wiretest"
)

// The kit that every cluster passes.
func TestWire(t *testing.T) {
	addrs := brokers(t)
	wiretest.Run(t, wiretest.Cluster{
		Lenient: !kafkatest.Real(),
		Run:     fmt.Sprint(time.Now().UnixNano()),
		Connect: func(t *testing.T) wire.Log {
			l, err := (&Cluster{Brokers: addrs}).Connect(t.Context(), "kit")
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
	})
}
