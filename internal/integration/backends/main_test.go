package backends

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// The first arguments with which the test binary runs as another program.
const (
	asHop         = "hop"
	asSlowService = "slow service"
	asSlowBackend = "slow backend"
	asKillable    = "killable backend"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		run := map[string]func([]string) error{
			asHop: runHop, asSlowService: runSlowService, asSlowBackend: runSlowBackend, asKillable: runKillable,
		}[os.Args[1]]
		if run != nil {
			fmt.Fprintln(os.Stderr, run(os.Args[2:]))
			os.Exit(1)
		}
	}
	// The tests wait most of the time, so they all run at once on a machine with fewer cores.
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// serve starts this program as another one. It is ready when a GET of the path succeeds.
func serve(t *testing.T, as, ready string, arguments ...string) *program.Server {
	t.Helper()
	return program.Serve(t, os.Args[0], ready, func(address string) []string {
		return append([]string{as, address}, arguments...)
	})
}

func equal(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %d, want %d", what, got, want)
	}
}
