package watch

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAServerShowsMetricsAndThePage(t *testing.T) {
	s, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/metrics": "go_goroutines", "/debug/throttle": "<html"} {
		r, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: got status %d and %.100q want 200 and %q", path, r.StatusCode, body, want)
		}
	}
	if other, err := Open(strings.TrimPrefix(s.URL(), "http://")); err == nil || other != nil || !strings.Contains(err.Error(), "-metrics") {
		t.Errorf("a port that is taken: got %v want an error that names the flag", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoAddressIsNoServer(t *testing.T) {
	s, err := Open("")
	if s != nil || err != nil || s.URL() != "" || s.Close() != nil {
		t.Errorf("got %v, %v want no server and no error", s, err)
	}
}

// TestOtherHostsAreRefused makes requests for other host names, as after DNS rebinding.
func TestOtherHostsAreRefused(t *testing.T) {
	s, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, path := range []string{"/metrics", "/debug/throttle", "/debug/throttle?format=json"} {
		for host, want := range map[string]int{"evil.example": http.StatusForbidden, "localhost": http.StatusOK, "quota:9464": http.StatusOK} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s of %s: got status %d want %d", path, host, response.StatusCode, want)
			}
		}
	}
}
