package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// A request costs one token per kilobyte. More than a full bucket can never be granted: that is 413, not 429.
func ExampleMiddlewareConfig() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "uploads", Limit: bucket.Per(100, time.Hour)}))
	uploads := bucket.Middleware(l, bucket.MiddlewareConfig{
		Cost: func(r *http.Request) int64 { return max(1, r.ContentLength>>10) },
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, kilobytes := range []int64{60, 60, 200} {
		r, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
		r.ContentLength = kilobytes << 10
		uploads.ServeHTTP(w, r)
		fmt.Println(kilobytes, "kB:", w.Code)
	}
	// Output:
	// 60 kB: 200
	// 60 kB: 429
	// 200 kB: 413
}

// Two errors of Take do not depend on the level of the bucket: a retry has the same result.
func ExampleLimiter_Take_invalid() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "mails", Limit: bucket.PerSecond(10)}))
	ctx := context.Background()
	fmt.Println(errors.Is(l.Take(ctx, "ann", 11), bucket.ErrExceedsCapacity))
	fmt.Println(errors.Is(l.Take(ctx, "ann", -1), bucket.ErrNegative))
	// Output:
	// true
	// true
}
