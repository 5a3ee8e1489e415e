package stream_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when an app, its feeds, workers or calls are still there after the tests: every goroutine has an owner that ends it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"), // sarama's metrics: one for the process, for ever
	)
}
