package retries

import (
	"fmt"
	"os"
	"testing"
)

// The first argument with which the test binary runs as a backend, or as a client.
const (
	asBackend = "backend"
	asClient  = "client"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asBackend {
		fmt.Fprintln(os.Stderr, runBackend(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == asClient {
		fmt.Fprintln(os.Stderr, runClient(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
