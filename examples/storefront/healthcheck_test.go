package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// check runs the command with -healthcheck against a server, and returns its exit code and error text.
func check(t *testing.T, server *httptest.Server) (code int, said string) {
	t.Helper()
	var out, complaints strings.Builder
	s := settingsOf(t, "-healthcheck -listen "+server.Listener.Addr().String())
	c := command{settings: s, stdout: &out, stderr: &complaints, getenv: nothing}
	code = c.run(t.Context())
	if out.Len() > 0 {
		t.Errorf("standard output: got %q want nothing", out.String())
	}
	return code, complaints.String()
}

func TestHealthcheckOfAServer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.Handler
		code    int
		want    string
	}{
		{"the storefront", build(t, "").handler("127.0.0.1:8080"), program.Done, ""},
		{"unwell", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), program.Failed, "/healthz: got status 503 want 200\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			code, said := check(t, server)
			if code != tt.code || !strings.HasSuffix(said, tt.want) || tt.want == "" && said != "" || strings.Count(said, "\n") > 1 {
				t.Errorf("run: got code %d and %q want %d and a line with %q", code, said, tt.code, tt.want)
			}
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if code, said := check(t, gone); code != program.Failed || !strings.Contains(said, "refused") || strings.Count(said, "\n") != 1 {
		t.Errorf("no listener: got code %d and %q want 1 and a line that says so", code, said)
	}
}

// silent is a server that takes a request and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestHealthcheckWaitsTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := checkHealth(t.Context(), ":8080", silent{})
		if err == nil || !strings.Contains(err.Error(), "http://localhost:8080/healthz: got no answer within 2s") {
			t.Errorf("check: got error %v want that there is no answer within 2s", err)
		}
		equal(t, "time of the check", time.Since(begun), healthTimeout)
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		if err := checkHealth(ctx, ":8080", silent{}); !errors.Is(err, context.Canceled) {
			t.Errorf("check after Ctrl-C: got error %v want that it was cancelled", err)
		}
	})
}
