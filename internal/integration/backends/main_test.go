package backends

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// The first arguments with which the test binary runs as another program.
const (
	asSlowService = "slow service"
	asSlowBackend = "slow backend"
	asKillable    = "killable backend"
)

func TestMain(m *testing.M) {
	program.Main(m, 6, map[string]func([]string) error{
		asSlowService: runSlowService, asSlowBackend: runSlowBackend, asKillable: runKillable,
	})
}

// listen serves HTTP at an address until the process is interrupted.
func listen(address string, handler http.Handler) error {
	program.ExitWhenInterrupted()
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
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
