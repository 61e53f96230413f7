package bucket_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// The code of docs/coming-from.md, and the test that runs it.

// perCustomer replaces a map of x/time/rate limiters.
func perCustomer(served http.Handler) http.Handler {
	l := bucket.Must(bucket.New(bucket.Config{
		Name:  "api",
		Limit: bucket.PerSecond(10).WithBurst(20),
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := l.Decide(r.Context(), customerOf(r)) // a bucket for each customer; full buckets are removed
		if err != nil || !d.Allowed {
			w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfter/time.Second)+1))
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		served.ServeHTTP(w, r)
	})
}

// customerOf returns the customer of a request. It stands for your authentication.
func customerOf(r *http.Request) string { return r.URL.Query().Get("customer") }

func TestEachCustomerHasABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := perCustomer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for customer, want := range map[string]int{"ann": 5, "bob": 0} { // of whom ann asks for 25 and bob for one
			denied := 0
			for range 1 + 24*min(want, 1) {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?customer="+customer, nil))
				if w.Code == http.StatusTooManyRequests {
					denied++
				}
				if got := w.Header().Get("Retry-After"); (w.Code != http.StatusOK) != (got == "1") {
					t.Errorf("%s: got %d with Retry-After %q want 1 with a denial only", customer, w.Code, got)
				}
			}
			if denied != want {
				t.Errorf("%s: got %d denials want %d", customer, denied, want)
			}
		}
	})
}
