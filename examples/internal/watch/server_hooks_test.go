package watch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestOpenSetsTheDefaultHooks makes a backoff, a breaker and a bucket without Hooks, and requests the
// metrics and the page.
func TestOpenSetsTheDefaultHooks(t *testing.T) {
	s, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, errBackoff := backoff.New(backoff.Config{Name: "orders"})
	m, errBreaker := breaker.New(breaker.Config{Name: "webhooks"})
	l, errBucket := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1)})
	if err := errors.Join(errBackoff, errBreaker, errBucket); err != nil {
		t.Fatal(err)
	}
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
				t.Errorf("%s: got no %s", path, want)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if backoff.DefaultHooks().Created != nil || breaker.DefaultHooks().Created != nil || bucket.DefaultHooks().Created != nil {
		t.Error("after Close: got default hooks want none")
	}
}
