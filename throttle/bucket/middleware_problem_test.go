package bucket_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// TestMiddleware_Problems checks the type, the title and the limits of each problem, and that no throttle outside of the
// limiter counts it as a rejection by the server, whatever hides the ResponseWriter.
func TestMiddleware_Problems(t *testing.T) {
	const (
		quota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
		reduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

		exceeded = "Request cannot be satisfied as assigned quota has been exceeded"
		capacity = "Request cannot be satisfied due to temporary server capacity constraints"
	)
	limit := bucket.Per(4, time.Hour)
	failing := func(p bucket.FailurePolicy, replicas int) bucket.Config {
		return bucket.Config{Store: newFailing(), Limit: limit, OnFailure: p, Replicas: replicas}
	}
	for _, tt := range []struct {
		name    string
		c       bucket.Config
		cost    int64
		silent  bool
		want    map[string]any
		counted string // by the throttles
	}{
		{"denied", bucket.Config{Limit: limit}, 3, false, problem(quota, exceeded, 429, `my "api" _`), "ignored/shed"},
		{"denied in silence", bucket.Config{Limit: limit}, 3, true, problem(quota, exceeded, 429), "ignored/shed"},
		{"the local share is used up", failing(bucket.LocalShare, 1), 3, false, problem(reduced, capacity, 429, `my "api" _`), "ignored/shed"},
		{"more than the local share", failing(bucket.LocalShare, 2), 3, false, problem(reduced, capacity, 503, `my "api" _`), "ignored/shed"},
		{"no answer", failing(bucket.FailClosed, 0), 3, true, problem(reduced, capacity, 503), "ignored/shed"},
		{"too many", bucket.Config{Limit: limit}, 5, false, problem("", "Request Entity Too Large", 413), "accepted/other"},
		{"negative", bucket.Config{Limit: limit}, -1, false, problem("", "Service Unavailable", 503), "ignored/availability"},
	} {
		for between, wrap := range map[string]func(http.Handler) http.Handler{
			"direct":         func(h http.Handler) http.Handler { return h },
			"TimeoutHandler": func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "") },
		} {
			t.Run(tt.name+", "+between, func(t *testing.T) {
				tt.c.Name = "my \"api\" \n"
				l := limiter(t, tt.c)
				_ = l.Take(t.Context(), "", tt.cost) // so that the request finds too few tokens
				h := bucket.Middleware(l, bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return tt.cost }, Silent: tt.silent})(http.NotFoundHandler())
				inner, outer := throttle.Must(throttle.New(throttle.Config{Name: "inner"})), throttle.Must(throttle.New(throttle.Config{Name: "outer"}))
				for _, th := range []*throttle.Throttle{inner, outer} {
					h = httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(wrap(h))
				}
				w := get(t, h)
				if h := w.Header(); (w.Code == http.StatusServiceUnavailable) != (h.Get("Retry-After") == "1") || tt.silent && h.Get("RateLimit") != "" {
					t.Errorf("got status %d and %v", w.Code, h)
				}
				var got map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !reflect.DeepEqual(got, tt.want) || float64(w.Code) != tt.want["status"] {
					t.Errorf("got %d, %v (%v)\nwant %v", w.Code, w.Body, err, tt.want)
				}
				for _, th := range []*throttle.Throttle{inner, outer} {
					if got := books(th); got != "1 "+tt.counted {
						t.Errorf("counted: got %s want 1 %s", got, tt.counted)
					}
				}
			})
		}
	}
}

// problem returns the body of a response.
func problem(kind, title string, status float64, violated ...any) map[string]any {
	body := map[string]any{"title": title, "status": status}
	if kind != "" {
		body["type"] = kind
	}
	if violated != nil {
		body["violated-policies"] = violated
	}
	return body
}
