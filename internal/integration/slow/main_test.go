package slow

import (
	"fmt"
	"os"
	"testing"
)

// The first arguments with which the test binary runs as a server.
const (
	asService = "service"
	asBackend = "backend"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == asService || os.Args[1] == asBackend) {
		fmt.Fprintln(os.Stderr, run(os.Args[1], os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
