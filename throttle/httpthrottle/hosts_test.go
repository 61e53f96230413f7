package httpthrottle_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// A client that calls whatever it is told keeps no more throttles than it may, and no goroutine, or the bubble would not end.
func TestTenThousandHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, closed := 0, 0
		transport := newTransport(t, answers(503, "text"), httpthrottle.TransportConfig{
			Group: throttle.GroupConfig{Max: 100},
			Throttle: throttle.Config{Hooks: throttle.Hooks{
				Created: func(*throttle.Throttle) { made++ },
				Closed:  func(*throttle.Throttle) { closed++ },
			}},
		})
		var open []io.Closer
		for i := range 10_000 {
			r := get(t.Context())
			r.URL.Host = fmt.Sprintf("host-%d.example", i)
			response, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, response.Body)
		}
		equal(t, "throttles kept", transport.Group().Len(), 100)
		equal(t, "throttles made", made, 10_000)
		equal(t, "throttles closed", closed, 9_900)
		equal(t, "in flight at the last", books(throttleOf(t, transport, "host-9999.example")), "1 medium rejected/availability, 1 medium in flight")
		for _, body := range open { // of throttles long gone, too
			_ = body.Close()
		}
		equal(t, "in flight afterwards", books(throttleOf(t, transport, "host-9999.example")), "1 medium rejected/availability")
		equal(t, "Close", transport.Close(), nil)
		equal(t, "throttles closed in the end", closed, 10_000)
	})
}

// A host that fails does not keep requests from another.
func TestHostsAreApart(t *testing.T) {
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, "sick") {
			return answers(503, "")(r)
		}
		return answers(200, "")(r)
	}), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	failed := 0
	for range 1000 {
		for _, name := range []string{"sick.example", "well.example"} {
			r := get(t.Context())
			r.URL.Host = name
			response, err := transport.RoundTrip(r)
			if err == nil {
				_ = response.Body.Close()
			} else {
				failed++
			}
		}
	}
	equal(t, "shed of the sick host", shed(throttleOf(t, transport, "sick.example")), uint64(failed))
	equal(t, "some shed", failed > 0, true)
	equal(t, "of the other", books(throttleOf(t, transport, "well.example")), "1000 medium accepted/none")
}
