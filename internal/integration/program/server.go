package program

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// attempts is how often a server is started, if others are always quicker to take the port.
const attempts = 5

// silence is how long to wait for an answer before asking again: it may be somebody else who has the port, and says nothing.
const silence = 2 * time.Second

// Server is a program that listens.
type Server struct {
	*Process

	Address string // host and port
}

// URL returns the address of something that the server has.
func (s *Server) URL(path string) string { return "http://" + s.Address + path }

// Serve starts a server and returns it when it says by HTTP that it is ready. A free port may be taken by somebody else before the
// server can; then it gets another.
func Serve(t testing.TB, path, ready string, flags func(address string) []string) *Server {
	t.Helper()
	return serve(t, path, ready, flags, freeAddress)
}

func serve(t testing.TB, path, ready string, flags func(address string) []string, free func(testing.TB) string) *Server {
	t.Helper()
	for range attempts {
		address := free(t)
		s := &Server{Process: Start(t, path, flags(address)...), Address: address}
		if s.rises(t, ready) {
			return s
		}
		s.given = true
	}
	t.Fatalf("%s found no port in %d attempts", path, attempts)
	return nil
}

// rises waits until the server is ready. It reports false if the port was taken, and fails the test if there is anything else.
func (s *Server) rises(t testing.TB, ready string) bool {
	t.Helper()
	taken := false
	client := http.Client{Timeout: silence}
	Eventually(t, s.name+" is ready", func() string {
		if s.over() {
			if taken = portTaken(s.Said()); !taken {
				t.Fatalf("%s ended with %v:\n%s", s.name, s.err, s.Said())
			}
			return ""
		}
		response, err := client.Get(s.URL(ready))
		if err != nil {
			return fmt.Sprintf("%v; it says:\n%s", err, s.Said())
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return response.Status
		}
		return ""
	})
	return !taken
}

// restart starts a server again where it was. Somebody else may have the port for a while.
func restart(t testing.TB, address string, start func(testing.TB, string) bool) {
	t.Helper()
	Eventually(t, address+" is free again", func() string {
		if !start(t, address) {
			return "somebody has taken it"
		}
		return ""
	})
}

// portTaken reports whether a server complains that somebody else has its port.
func portTaken(said string) bool {
	return regexp.MustCompile(`(?i)address already in use`).MatchString(said)
}

// freeAddress returns an address of this machine on which nobody listened a moment ago.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
