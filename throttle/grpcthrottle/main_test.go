package grpcthrottle_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and then looks for goroutines that they left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
