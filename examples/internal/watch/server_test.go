package watch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// ask requests a path by a host name.
func ask(t *testing.T, s *Server, path, host string) (status int, body string) {
	t.Helper()
	r := throttle.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, http.NoBody))
	r.Host = host
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := throttle.Must(io.ReadAll(response.Body))
	return response.StatusCode, string(text)
}

// TestAServerShowsMetricsAndThePage makes a backoff, a breaker and a bucket without Hooks, and requests both.
func TestAServerShowsMetricsAndThePage(t *testing.T) {
	s := throttle.Must(Open("127.0.0.1:0"))
	b, errBackoff := backoff.New(backoff.Config{Name: "orders"})
	m, errBreaker := breaker.New(breaker.Config{Name: "webhooks"})
	l, errBucket := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1)})
	if err := errors.Join(errBackoff, errBreaker, errBucket); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _, _ = b.Close(), m.Close(), l.Close() }()
	for path, wants := range map[string][]string{
		"/metrics": {
			"go_goroutines", `throttle_backoff_name="orders"`, `throttle_breaker_name="webhooks"`, `throttle_bucket_name="geocoder"`,
		},
		"/debug/throttle":             {"<html"},
		"/debug/throttle?format=json": {`"orders"`, `"webhooks"`, `"geocoder"`},
	} {
		if status, _ := ask(t, s, path, "evil.example"); status != http.StatusForbidden { // as after DNS rebinding
			t.Errorf("%s of another host: got status %d want 403", path, status)
		}
		status, body := ask(t, s, path, "localhost")
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: got status %d and %.100q want 200 and %s", path, status, body, want)
			}
		}
	}
	if other, err := Open(strings.TrimPrefix(s.URL(), "http://")); err == nil || other != nil || !strings.Contains(err.Error(), "-metrics") {
		t.Errorf("a port that is taken: got %v want an error that names the flag", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	set := backoff.DefaultHooks().Created != nil || breaker.DefaultHooks().Created != nil || bucket.DefaultHooks().Created != nil
	if set || retry.DefaultHooks().Created != nil || control.DefaultHooks().Created != nil {
		t.Error("after Close: got default hooks want none")
	}
}

func TestNoAddressIsNoServer(t *testing.T) {
	s, err := Open("")
	if s != nil || err != nil || s.URL() != "" || s.Close() != nil {
		t.Errorf("got %v, %v want no server and no error", s, err)
	}
}
