package state_test

import (
	"testing"

	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/state/statetest"
)

func TestInMemory(t *testing.T) { statetest.Run(t, state.InMemory()) }
