package customer

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func open(t *testing.T) *Server {
	t.Helper()
	s, err := Open(8, 2)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func post(ctx context.Context, client *http.Client, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestEndpointsAnswerAsTheyAre(t *testing.T) {
	s := open(t)
	client := &http.Client{Transport: &http.Transport{}}
	e := s.Endpoints()[3]
	for _, tt := range []struct {
		health Health
		want   int
	}{{Well, http.StatusNoContent}, {Failing, http.StatusInternalServerError}, {Well, http.StatusNoContent}} {
		e.Set(tt.health)
		if got, err := post(t.Context(), client, s.URL(e)); got != tt.want || err != nil {
			t.Errorf("%v: got %d, error %v want %d", tt.health, got, err, tt.want)
		}
	}
	e.Set(Refusing)
	if _, err := post(t.Context(), client, s.URL(e)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refusing: got error %v want a refused connection", err)
	}
	e.Set(Flaky)
	counts := map[int]int{}
	const calls = 200
	for range calls {
		status, err := post(t.Context(), client, s.URL(e))
		if err != nil {
			t.Fatalf("flaky: got error %v want nil", err)
		}
		counts[status]++
	}
	if got := counts[http.StatusServiceUnavailable]; got < calls/2 || got+counts[http.StatusNoContent] != calls {
		t.Errorf("flaky: got %v want mostly 503, and 204", counts)
	}
	if got, err := post(t.Context(), client, s.URL(e)+"0000"); got != http.StatusNotFound || err != nil {
		t.Errorf("nobody's path: got %d, error %v want 404", got, err)
	}
	client.CloseIdleConnections()
	if err := s.Close(); err != nil {
		t.Errorf("Close: got error %v want nil", err)
	}
}

// TestHangingEndsWithTheCallerOrTheServer: neither waits for the other for ever.
func TestHangingEndsWithTheCallerOrTheServer(t *testing.T) {
	s := open(t)
	client := &http.Client{Transport: &http.Transport{}}
	e := s.Endpoints()[0]
	e.Set(Hanging)
	ctx, cancel := context.WithCancel(t.Context())
	impatient, patient := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := post(ctx, client, s.URL(e))
		impatient <- err
	}()
	go func() {
		_, err := post(t.Context(), client, s.URL(e))
		patient <- err
	}()
	cancel()
	if err := <-impatient; !errors.Is(err, context.Canceled) {
		t.Errorf("caller gives up: got error %v want context.Canceled", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: got error %v want nil", err)
	}
	if err := <-patient; err == nil {
		t.Error("server ends: got nil want an error")
	}
}

func TestEndpointCounts(t *testing.T) {
	s := open(t)
	defer s.Close()
	e := s.Endpoints()[5]
	e.Begin()
	e.End(nil, 1)
	e.Begin()
	e.End(errors.New("no"), 7)
	e.Begin()
	if begun, accepted, failed := e.Attempts(); begun != 3 || accepted != 1 || failed != 1 || e.FailureTook() != 7 {
		t.Errorf("Attempts: got %d, %d, %d and %v want 3, 1, 1 and 7ns", begun, accepted, failed, e.FailureTook())
	}
	if got, want := e.Key.String(), `"tenant-01"/"https://tenant-01.example:8443/hooks/5"`; got != want {
		t.Errorf("Key: got %s want %s", got, want)
	}
}
