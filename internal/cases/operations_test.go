package cases

import (
	"maps"

	"github.com/weirstream/weir/stream/streamtest"
)

// operations is what a topology is made by, for every operation of the format.
func operations() map[string]func(p *program) error {
	all := map[string]func(p *program) error{}
	for _, some := range []map[string]func(p *program) error{
		streamOperations(), windowOperations(), joinOperations(), tableOperations(), timerOperations(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// nothingToOpen is an output that is collected in the topology itself.
func nothingToOpen(read func() []record) func(d *streamtest.Driver) func() []record {
	return func(*streamtest.Driver) func() []record { return read }
}
