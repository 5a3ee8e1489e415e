package avro_test

import (
	"testing"

	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
)

func TestKit(t *testing.T) { avrotest.Run(t, avro.Default()) }
