package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// TestRun serves both routes, and shows the calls, the throttles and the settings of the file.
func TestRun(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"throttles": {"shop": {"mode": "shadow"}}}`), 0o600); err != nil {
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
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
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

func TestCommand(t *testing.T) {
	programtest.Explains(t, command, "-listen", "-internal", "-settings")
	programtest.Refuses(t, command, map[string]string{"-listen 8080": "want host:port", "extra": "is not a flag"})
	var out strings.Builder
	if code := command(t.Context(), []string{"-listen", programtest.TakenAddress(t)}, io.Discard, &out); code != program.Failed || !strings.Contains(out.String(), "address already in use") {
		t.Errorf("got code %d and %q want %d and that the address is in use", code, out.String(), program.Failed)
	}
}
