package retries

import (
	"fmt"
	"os"
	"testing"
)

// asBackend is the first argument with which the test binary runs as a backend.
const asBackend = "backend"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asBackend {
		fmt.Fprintln(os.Stderr, runBackend(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
