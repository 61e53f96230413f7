package bucket_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestMiddleware_Problems checks the type, the title and the limits of each problem.
func TestMiddleware_Problems(t *testing.T) {
	const (
		quota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
		reduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

		exceeded = "Request cannot be satisfied as assigned quota has been exceeded"
		capacity = "Request cannot be satisfied due to temporary server capacity constraints"
	)
	failing, limit := newFailing(), bucket.Limit{Capacity: 4, Period: time.Hour}
	for _, tt := range []struct {
		name   string
		c      bucket.Config
		cost   int64
		silent bool
		want   map[string]any
	}{
		{"denied", bucket.Config{Limit: limit}, 3, false, problem(quota, exceeded, 429, `my "api" _`)},
		{"denied in silence", bucket.Config{Limit: limit}, 3, true, problem(quota, exceeded, 429)},
		{
			"the local share is used up",
			bucket.Config{Store: failing, Limit: limit, OnFailure: bucket.LocalShare, Replicas: 1},
			3, false, problem(reduced, capacity, 429, `my "api" _`),
		},
		{
			"more than the local share",
			bucket.Config{Store: failing, Limit: limit, OnFailure: bucket.LocalShare, Replicas: 2},
			3, false, problem(reduced, capacity, 503, `my "api" _`),
		},
		{
			"no answer",
			bucket.Config{Store: failing, Limit: limit, OnFailure: bucket.FailClosed},
			3, true, problem(reduced, capacity, 503),
		},
		{"too many", bucket.Config{Limit: limit}, 5, false, problem("", "Request Entity Too Large", 413)},
		{"negative", bucket.Config{Limit: limit}, -1, false, problem("", "Service Unavailable", 503)},
	} {
		tt.c.Name = "my \"api\" \n"
		h := bucket.Middleware(limiter(t, tt.c), bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return tt.cost }, Silent: tt.silent})(http.NotFoundHandler())
		var w *httptest.ResponseRecorder
		for range 2 { // the second finds too few tokens
			w = get(t, h)
		}
		var got map[string]any
		if h := w.Header(); (w.Code == http.StatusServiceUnavailable) != (h.Get("Retry-After") == "1") || tt.silent && h.Get("RateLimit") != "" {
			t.Errorf("%s: got status %d and %v", tt.name, w.Code, h)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !reflect.DeepEqual(got, tt.want) || float64(w.Code) != tt.want["status"] {
			t.Errorf("%s: got %d, %v (%v)\nwant %v", tt.name, w.Code, w.Body, err, tt.want)
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
