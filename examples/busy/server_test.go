package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestHandlers(t *testing.T) {
	for _, protected := range []bool{true, false} {
		handler := newHandler(protected, 1)
		get := func(path string) *httptest.ResponseRecorder {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return recorder
		}
		for _, k := range kinds() {
			if got := get(k.path); got.Code != http.StatusOK || got.Body.String() != "done\n" {
				t.Errorf("%s, protected %v: got status %d and %q want 200 and done", k.path, protected, got.Code, got.Body)
			}
		}
		var state throttle.ProcessorStats
		if err := json.Unmarshal(get(statePath).Body.Bytes(), &state); err != nil {
			t.Errorf("%s, protected %v: got error %v want the state in JSON", statePath, protected, err)
		}
	}
}

func TestAServerLimitsItsConnections(t *testing.T) {
	changed := newServer(http.NotFoundHandler()).ConnState
	accept := func() chan struct{} {
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			changed(nil, http.StateNew)
		}()
		return accepted
	}
	for range maxConnections {
		<-accept()
	}
	next := accept()
	select {
	case <-next:
		t.Error("got one connection too many")
	default:
	}
	changed(nil, http.StateActive)
	changed(net.Conn(nil), http.StateClosed)
	<-next
}
