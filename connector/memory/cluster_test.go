package memory_test

import (
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/internal/wire/wiretest"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestWireKit(t *testing.T) {
	for name, c := range map[string]*memory.Cluster{
		"wall clock":    {},
		"virtual clock": {Start: epoch, Poison: true},
	} {
		t.Run(name, func(t *testing.T) {
			wiretest.Run(t, wiretest.Cluster{Connect: func(t *testing.T) wire.Log { return connect(t, c) }})
		})
	}
}

func connect(t testing.TB, c *memory.Cluster) wire.Log {
	t.Helper()
	l, err := c.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
