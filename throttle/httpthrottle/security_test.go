package httpthrottle_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// Send is called again after a redirect, here from our server to another company's.
func TestSecurity_SendAfterRedirect(t *testing.T) {
	got := map[string]string{}
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		got[r.URL.Host] = fmt.Sprint(r.Header[httpthrottle.PriorityHeader])
		response, err := answers(http.StatusTemporaryRedirect, "")(r)
		if r.URL.Host != host {
			response.StatusCode = http.StatusOK
		}
		response.Header.Set("Location", "http://other.example/")
		return response, err
	}), httpthrottle.TransportConfig{Send: func(r *http.Request) bool { return r.URL.Host == host }})
	r := get(throttle.WithPriority(t.Context(), throttle.High))
	r.Header.Set(httpthrottle.PriorityHeader, "important") // http.Client copies it
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	equal(t, "sent", fmt.Sprint(got), "map["+host+":[high] other.example:[]]")
}

// A host that rejects every request does not change the throttle of another host.
func TestSecurity_HostsAreIsolated(t *testing.T) {
	transport := newTransport(t, answers(200, ""), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, transport, "sick.example"))
	for range 100 {
		read(t, transport, get(t.Context()))
	}
	equal(t, "books of the other host", books(throttleOf(t, transport, host)), "100 medium accepted/none")
}

// The transport removes the header in any spelling: net/http sends names that are not canonical.
func TestSecurity_HeaderSpelling(t *testing.T) {
	var heard http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard = r.Header }))
	defer server.Close()
	for name, c := range map[string]struct {
		send bool
		want string
	}{"not allowed": {false, "[]"}, "allowed": {true, "[low]"}} {
		transport := newTransport(t, &http.Transport{DisableKeepAlives: true}, httpthrottle.TransportConfig{
			Send: func(*http.Request) bool { return c.send },
		})
		for _, spelling := range []string{"throttle-priority", "THROTTLE-PRIORITY"} {
			r, err := http.NewRequestWithContext(throttle.WithPriority(t.Context(), throttle.Low), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header[spelling] = []string{"high"}
			response := ask(t, transport, r)
			_ = response.Body.Close()
			equal(t, name+", "+spelling, fmt.Sprint(heard[httpthrottle.PriorityHeader]), c.want)
			equal(t, name+": own header stays", len(r.Header[spelling]), 1)
		}
	}
}

// No header of an untrusted sender sets the priority.
func TestSecurity_UntrustedHeaders(t *testing.T) {
	peer := func(context.Context) bool { return false }
	th := newThrottle(t, throttle.Config{})
	handler := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Peer: peer, Default: throttle.Low}})(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			equal(t, "priority", throttle.PriorityFromContext(r.Context(), throttle.High), throttle.Low)
		}))
	server := httptest.NewServer(handler)
	defer server.Close()
	for header, values := range map[string][]string{
		"Throttle-Priority": {"high"}, "throttle-priority": {"high"}, "THROTTLE-PRIORITY": {"high", "high"}, "X-Throttle-Priority": {"high"},
		"Priority": {"u=0"}, "Importance": {"high"}, "Baggage": {"throttle.priority=high"}, "Grpc-Metadata-Throttle-Priority": {"high"},
		"Connection": {httpthrottle.PriorityHeader}, "Trailer": {httpthrottle.PriorityHeader},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[header] = values
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	equal(t, "books", books(th), "10 low accepted/none")
}

// The answer to a shed request names neither the throttle nor the key, and repeats no part of the request.
func TestSecurity_ShedAnswer(t *testing.T) {
	group, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "secret-backend", Rand: unlucky}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	handler := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{
		Group: group, Trust: throttle.Trust{Default: throttle.Low}, Key: func(*http.Request) string { return "secret-tenant" },
	})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	var last *httptest.ResponseRecorder
	for range 500 {
		last = httptest.NewRecorder()
		handler.ServeHTTP(last, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/<script>?<script>", http.NoBody))
		if last.Header().Get("Retry-After") != "" {
			break
		}
	}
	text := fmt.Sprint(last.Header(), last.Body)
	for _, word := range []string{"secret", "script", "throttle", "shed", "low"} {
		if strings.Contains(strings.ToLower(text), word) {
			t.Errorf("got %s: it has %q in it", text, word)
		}
	}
	if !strings.Contains(text, "Retry-After") {
		t.Errorf("got %s want the answer to a call that was shed", text)
	}
}
