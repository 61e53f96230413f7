package hops

import (
	"fmt"
	"os"
	"testing"
)

// asService is the first argument with which the test binary runs as a service.
const asService = "service"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asService {
		fmt.Fprintln(os.Stderr, runService(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
