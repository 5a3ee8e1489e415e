package engine

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine has outlived the session that owns it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
