package registrytest_test

import (
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

func TestConform(t *testing.T) {
	registrytest.Conform(t, func(*testing.T) serde.Registry { return registrytest.New() })
}
