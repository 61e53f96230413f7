package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/examples/internal/program/programtest"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// TestOperator lets only this machine change settings, and no page with a name that leads to it.
func TestOperator(t *testing.T) {
	for _, c := range []struct {
		from, host string
		allowed    bool
	}{
		{"127.0.0.1:5000", "127.0.0.1:9464", true},
		{"[::1]:5000", "localhost:9464", true},
		{"10.0.0.7:5000", "localhost:9464", false},
		{"127.0.0.1:5000", "evil.example:9464", false},
		{"127.0.0.1:5000", "localhost.evil.example:9464", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/", nil)
		r.RemoteAddr = c.from
		if who, err := operator(r); (err == nil) != c.allowed {
			t.Errorf("from %s to %s: got %q, %v", c.from, c.host, who, err)
		}
	}
}

// TestRun serves both routes, and shows the calls, the throttles and the settings of the file.
func TestRun(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"throttles": {"shop": {"mode": "shadow"}, "stock": {"ratio": 3}, "payments": {"ratio": 3}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan [2]string, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, config{"127.0.0.1:0", "127.0.0.1:0", settings}, func(shop, internal string) { ready <- [2]string{shop, internal} })
	}()
	var shop, internal string
	select {
	case at := <-ready:
		shop, internal = "http://"+at[0], "http://"+at[1]
	case err := <-ended:
		t.Fatal(err)
	}
	has(t, http.MethodGet, shop+"/products", "apples")
	has(t, http.MethodPost, shop+"/checkout", "SERVING")
	has(t, http.MethodGet, internal+"/debug/throttle", "<title>")
	has(t, http.MethodGet, internal+"/debug/throttle?format=control", "shadow")
	has(t, http.MethodGet, internal+"/metrics", `throttle_name="shop"`, `throttle_name="stock"`, `throttle_name="payments"`,
		`throttle_mode_source="override"`, "throttle_retry_calls_total")
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the program did not end")
	}
}

// has asks an address, and fails unless the answer has these texts.
func has(t *testing.T, method, url string, texts ...string) {
	t.Helper()
	r := throttle.Must(http.NewRequestWithContext(t.Context(), method, url, http.NoBody))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s %s: got %s, error %v", method, url, response.Status, err)
	}
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			t.Errorf("%s %s: got no %s in\n%.2000s", method, url, text, body)
		}
	}
}

// TestRun_takenAddress ends with an error, and leaves nothing behind.
func TestRun_takenAddress(t *testing.T) {
	taken := programtest.TakenAddress(t)
	for _, c := range []config{{taken, "127.0.0.1:0", ""}, {"127.0.0.1:0", taken, ""}} {
		if err := run(t.Context(), c, func(string, string) {}); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%v: got error %v want that the address is in use", c, err)
		}
	}
}

// TestAnswer_fullBackend is 503 for either kind of backend, and not held against the shop.
func TestAnswer_fullBackend(t *testing.T) {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	defer th.Close()
	for name, err := range map[string]error{
		"HTTP": httpthrottle.StatusCodeError(http.StatusTooManyRequests), "gRPC": status.Error(codes.ResourceExhausted, "full"),
	} {
		handler := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(answer(func(context.Context) (string, error) { return "", err }))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/products", http.NoBody))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got %d %v want 503 and Retry-After", name, w.Code, w.Header())
		}
	}
	if ended := th.Stats().Priorities[throttle.Medium].Ended; ended.Outcome(throttle.Ignored) != 2 {
		t.Errorf("got %d ignored calls want 2", ended.Outcome(throttle.Ignored))
	}
}

// TestFilesCanBeCopied checks that the program imports nothing that another module cannot import.
func TestFilesCanBeCopied(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 4 {
		t.Fatalf("got %v, error %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasSuffix(name, "_test.go") && strings.Contains(string(text), "/internal/") {
			t.Errorf("%s: imports an internal package, error %v", name, err)
		}
	}
}
