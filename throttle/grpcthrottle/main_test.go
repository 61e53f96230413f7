package grpcthrottle_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and then looks for goroutines that they left behind. In the process that a test has started, it is the
// backend.
func TestMain(m *testing.M) {
	if os.Getenv(backendMark) != "" {
		os.Exit(serveBackend())
	}
	goleak.VerifyTestMain(m)
}
