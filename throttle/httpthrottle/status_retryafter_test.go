package httpthrottle_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

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
