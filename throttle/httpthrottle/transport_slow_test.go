package httpthrottle_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

var slowly = throttle.Config{Slow: 100 * time.Millisecond}

func lateOf(th *throttle.Throttle) uint64 { return th.Stats().Priorities[throttle.Medium].Slow.Late }

type trickle struct{ io.Reader }

func (r trickle) Read(p []byte) (int, error) { time.Sleep(time.Minute); return r.Reader.Read(p) }

// TestSlow_Transport: the header of the response is what counts, however long its body takes.
func TestSlow_Transport(t *testing.T) {
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		for _, status := range []int{200, 503, 101} {
			synctest.Test(t, func(t *testing.T) {
				transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					time.Sleep(wait)
					var body io.ReadCloser = io.NopCloser(trickle{strings.NewReader("text")})
					if status == 101 {
						body = &stream{Reader: trickle{strings.NewReader("text")}}
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
				}), httpthrottle.TransportConfig{Throttle: slowly})
				read(t, transport, get(t.Context()))
				equal(t, fmt.Sprint(status, " after ", wait), lateOf(throttleOf(t, transport, host)), late)
			})
		}
	}
}

// TestSlow_Middleware: the header that the handler writes is what counts, or the takeover of its connection.
func TestSlow_Middleware(t *testing.T) {
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		for _, status := range []int{200, 503, 101} {
			synctest.Test(t, func(t *testing.T) {
				th := newThrottle(t, slowly)
				served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
					time.Sleep(wait)
					w.WriteHeader(status)
					time.Sleep(time.Minute)
				})
				equal(t, fmt.Sprint(status, " after ", wait), lateOf(th), late)
			})
		}
	}
}
