package program

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// attempts limits how often a server is started if another process takes its port each time.
const attempts = 5

// answerTimeout limits the wait for one answer of a server that starts. Another process may have the
// port and never answer.
const answerTimeout = 2 * time.Second

// Server is a program that listens.
type Server struct {
	*Process

	Address string // host and port
}

// URL returns the URL of a path on the server.
func (s *Server) URL(path string) string { return "http://" + s.Address + path }

// Serve starts a server and returns it when a GET of the path ready succeeds. If another process takes
// the port first, Serve tries another port.
func Serve(t testing.TB, path, ready string, flags func(address string) []string) *Server {
	t.Helper()
	var s *Server
	onFreePort(t, path, func(t testing.TB, address string) bool {
		s = &Server{Process: Start(t, path, flags(address)...), Address: address}
		client := http.Client{Timeout: answerTimeout}
		return s.awaitReady(t, func() error {
			response, err := client.Get(s.URL(ready))
			if err != nil {
				return err
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return errors.New(response.Status)
			}
			return nil
		})
	})
	return s
}

// onFreePort calls start with free addresses until it reports true: it reports false if the port was taken.
func onFreePort(t testing.TB, path string, start func(t testing.TB, address string) bool) {
	t.Helper()
	for range attempts {
		if start(t, freeAddress(t)) {
			return
		}
	}
	t.Fatalf("%s found no port in %d attempts", path, attempts)
}

// awaitReady waits until ask returns nil. It reports false if the port was taken, and fails the test if the
// server ends for another reason.
func (s *Server) awaitReady(t testing.TB, ask func() error) bool {
	t.Helper()
	Eventually(t, s.name+" is ready", func() string {
		if s.HasEnded() {
			if s.mayEnd = portTaken(s.Output()); !s.mayEnd {
				t.Fatalf("%s ended with %v:\n%s", s.name, s.err, s.Output())
			}
			return ""
		}
		if err := ask(); err != nil {
			return fmt.Sprintf("%v; its output:\n%s", err, s.Output())
		}
		return ""
	})
	return !s.mayEnd
}

// restart starts a server again at its old address. Another process may use the port for a while.
func restart(t testing.TB, address string, start func(testing.TB, string) bool) {
	t.Helper()
	Eventually(t, address+" is free again", func() string {
		if !start(t, address) {
			return "another process uses it"
		}
		return ""
	})
}

// portTaken reports whether the output of a server is that its port is in use.
func portTaken(output string) bool {
	return regexp.MustCompile(`(?i)address already in use`).MatchString(output)
}

// freeAddress returns a loopback address whose port was free a moment ago.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
