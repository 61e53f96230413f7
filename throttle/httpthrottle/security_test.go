package httpthrottle_test

import (
	"fmt"
	"net/http"
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
