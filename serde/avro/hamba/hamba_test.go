package hamba_test

import (
	"testing"

	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
	"github.com/weirstream/weir/serde/avro/hamba"
)

func TestKit(t *testing.T) {
	avrotest.Run(t, hamba.New(), "a tree grows", "a union becomes one of its types")
}
func TestCross(t *testing.T) { avrotest.Cross(t, avro.Default(), hamba.New()) }
