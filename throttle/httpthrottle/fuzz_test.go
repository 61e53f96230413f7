package httpthrottle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// FuzzRetryHeaders wants no panic, delays in range, and numbers of attempts that are written as a
// Transport writes them.
func FuzzRetryHeaders(f *testing.F) {
	f.Add("2", "3", "")
	f.Add("", "99999999999999999999", "Mon, 02 Jan 2006 15:04:05 GMT")
	f.Add("-1", "Mon, 02 Jan 2006 15:04:05 GMT", "garbage")
	f.Add("+1", "1e3", "0")
	f.Fuzz(func(t *testing.T, attempt, after, date string) {
		h := http.Header{"Retry-After": {after}, "Date": {date}}
		if delay := retry.DelayOf(httpthrottle.StatusError(&http.Response{StatusCode: 503, Header: h})); delay < 0 || delay > time.Hour {
			t.Errorf("Retry-After %q, Date %q: got %v want 0 to 1h", after, date, delay)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header[httpthrottle.AttemptHeader] = []string{attempt}
		served(throttle.Must(throttle.New(throttle.Config{Name: "x"})), httpthrottle.MiddlewareConfig{LowerRetries: true}, r,
			func(_ http.ResponseWriter, r *http.Request) {
				if n := retry.FromContext(r.Context()).Number; n != 1 && fmt.Sprint(n) != attempt || n > 99 || n < 1 {
					t.Errorf("attempt %q: got %d", attempt, n)
				}
			})
	})
}
