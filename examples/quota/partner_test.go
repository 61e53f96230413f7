package main

import (
	"net/http"
	"testing"
)

// TestPartnerCountsAndRefuses: a second's calls are in reserve, the next one is refused, and everybody's are counted.
func TestPartnerCountsAndRefuses(t *testing.T) {
	p, err := openPartner(10)
	if err != nil {
		t.Fatal(err)
	}
	post := func(name string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(processHeader, name)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for i := range 10 {
		if got := post("p1"); got != http.StatusNoContent {
			t.Errorf("call %d: got %d want 204", i, got)
		}
	}
	made := 1
	for post("p2") != http.StatusTooManyRequests { // tokens come back meanwhile
		made++
	}
	if got, want := p.of("p1"), (calls{made: 10}); got != want {
		t.Errorf("p1: got %+v want %+v", got, want)
	}
	if got, want := p.of(), (calls{made: 10 + made, refused: 1}); got != want {
		t.Errorf("all: got %+v want %+v", got, want)
	}
	if err := p.forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := post("p3"); got != http.StatusNoContent {
		t.Errorf("after a quiet second: got %d want 204", got)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := p.close(); err != nil {
		t.Errorf("close: got error %v want nil", err)
	}
}
