package httpthrottle_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestStatusError(t *testing.T) {
	want := map[int]string{
		400: "bad accepted", 401: "authentication accepted", 403: "permission accepted", 404: "missing accepted", 409: "conflict accepted",
		410: "missing accepted", 412: "precondition accepted", 428: "precondition accepted", 429: "quota rejected", 501: "unimplemented accepted",
		502: "availability rejected", 503: "availability rejected", 504: "timeout rejected",
	}
	for status := range 1000 {
		err := httpthrottle.StatusError(&http.Response{StatusCode: status})
		if status < 400 {
			equal(t, strconv.Itoa(status), err, nil)
			continue
		}
		got := fmt.Sprint(throttle.FaultOf(err), " ", throttle.DefaultClassify(t.Context(), err))
		equal(t, strconv.Itoa(status), got, cmp.Or(want[status], "other accepted"))
		delayed := httpthrottle.StatusError(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}})
		equal(t, fmt.Sprint(status, ": has a delay"), faults.IsUnavailable(delayed), strings.HasSuffix(got, "rejected"))
		equal(t, fmt.Sprint(status, ": fault with a delay"), throttle.FaultOf(delayed), throttle.FaultOf(err))
		var response *httpthrottle.ResponseError
		if !errors.As(err, &response) || response.StatusCode != status {
			t.Errorf("%d: got no ResponseError of it in %v", status, err)
		}
	}
	equal(t, "no response", httpthrottle.StatusError(nil), nil)
	equal(t, "text", httpthrottle.StatusCodeError(503).Error(), "httpthrottle: 503 Service Unavailable")
	equal(t, "text", httpthrottle.StatusCodeError(599).Error(), "httpthrottle: 599 (unknown status)")
}

func fullOf(th *throttle.Throttle) (full uint64) {
	for _, p := range th.Stats().Priorities {
		full += p.Overloaded
	}
	return full
}

func TestStatusError_overloaded(t *testing.T) {
	soon := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		status     int
		retryAfter string
		full       uint64
	}{
		{http.StatusTooManyRequests, "", 1},
		{http.StatusTooManyRequests, "7", 1},
		{http.StatusBadGateway, "", 0},
		{http.StatusBadGateway, "7", 1},
		{http.StatusServiceUnavailable, "", 0},
		{http.StatusServiceUnavailable, soon, 1},
		{http.StatusServiceUnavailable, past, 0},
		{http.StatusServiceUnavailable, "0", 0},
		{http.StatusServiceUnavailable, "soon", 0},
		{http.StatusGatewayTimeout, "", 0},
		{http.StatusGatewayTimeout, "7", 1},
		{http.StatusInternalServerError, "7", 0},
		{http.StatusOK, "7", 0},
	} {
		what := fmt.Sprintf("%d, Retry-After %q", c.status, c.retryAfter)
		th := newThrottle(t, throttle.Config{})
		response := served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
		}).Result()
		equal(t, what+", server", fullOf(th), c.full)
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) { return response, nil }), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, what+", client", fullOf(throttleOf(t, transport, host)), c.full)
	}
}

func TestRetryAfter(t *testing.T) {
	const none = time.Duration(-1)
	synctest.Test(t, func(t *testing.T) { // where the time stands still
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for text, want := range map[string]time.Duration{
			"": none, " ": none, "soon": none, "-1": none, "+1": none, "1.5": none, "1s": none, "1 2": none, "0x10": none, "1,2": none, "١": none,
			"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "007": 7 * time.Second, "3599": 3599 * time.Second, "3600": time.Hour,
			"3601": time.Hour, "9223372036854775808": time.Hour, strings.Repeat("9", 100_000): time.Hour,
			in(90 * time.Second): 90 * time.Second, in(-time.Hour): 0, in(1000 * time.Hour): time.Hour, in(0): 0,
			time.Now().Add(time.Minute).UTC().Format(time.RFC850): time.Minute, time.Now().Add(time.Minute).UTC().Format(time.ANSIC): time.Minute,
			"Fri, 31 Dec 9999 23:59:59 GMT": time.Hour, "Sat, 01 Jan 0001 00:00:00 GMT": 0,
		} {
			for _, status := range []int{429, 502, 503, 504} {
				h := http.Header{"Retry-After": {text}}
				err := httpthrottle.StatusError(&http.Response{StatusCode: status, Header: h})
				got := none
				if failure, ok := faults.AsUnavailable(err); ok {
					got = failure.RetryInfo.RetryDelay
				}
				always := status == 502 || status == 503 // availability without any header
				if want == none && always {
					got -= 1 // of 0, to be none
				}
				if got != want {
					t.Errorf("%d with Retry-After %.40q: got %v want %v", status, text, got, want)
				}
			}
		}
	})
}

func TestRetryAfter_WrongClock(t *testing.T) {
	h := http.Header{"Date": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Retry-After": {"Mon, 02 Jan 2006 15:04:35 GMT"}}
	failure, _ := faults.AsUnavailable(httpthrottle.StatusError(&http.Response{StatusCode: 503, Header: h}))
	equal(t, "delay", failure.RetryInfo.RetryDelay, 30*time.Second)
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "99999999999999999999", "Mon, 02 Jan 2006 15:04:05 GMT", "\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, date string) {
		h := http.Header{"Retry-After": {text}, "Date": {date}}
		if delay := retry.DelayOf(httpthrottle.StatusError(&http.Response{StatusCode: 503, Header: h})); delay < 0 || delay > time.Hour {
			t.Errorf("Retry-After %q: got %v want 0 to 1h", text, delay)
		}
	})
}
