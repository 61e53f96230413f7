package httpthrottle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
