package watch

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestHooksShowEachSystem asks for the metrics and for the page of a backoff, a breaker and a
// bucket.
func TestHooksShowEachSystem(t *testing.T) {
	s, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	b := backoff.Must(backoff.New(backoff.Config{Name: "orders", Hooks: s.BackoffHooks()}))
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: s.BreakerHooks()}))
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1), Hooks: s.BucketHooks()}))
	defer func() { _, _, _ = b.Close(), m.Close(), l.Close() }()
	for path, wants := range map[string][]string{
		"/metrics": {
			`throttle_backoff_name="orders"`, `throttle_breaker_name="webhooks"`, `throttle_bucket_name="geocoder"`,
		},
		"/debug/throttle?format=json": {`"orders"`, `"webhooks"`, `"geocoder"`},
	} {
		r, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		for _, want := range wants {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: got nothing of %s", path, want)
			}
		}
	}
}

func TestNoServerHasNoHooks(t *testing.T) {
	var s *Server
	if s.BackoffHooks().Created != nil || s.BreakerHooks().Created != nil || s.BucketHooks().Created != nil {
		t.Error("a nil Server: got hooks want none")
	}
}
