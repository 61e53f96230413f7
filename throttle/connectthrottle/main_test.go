package connectthrottle_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and then checks for leaked goroutines.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
