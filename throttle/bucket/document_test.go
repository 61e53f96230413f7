package bucket_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestTheDocumentsProgram plays it: two calls a second, five callers each second. Two succeed and three fail in every second, and never more than
// two in one second of the clock, which the document's own program does not keep.
func TestTheDocumentsProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := bucket.Limit{Capacity: 2, Period: time.Second, Algorithm: bucket.Fixed}
		l := limiter(t, bucket.Config{Limit: limit})
		type ctxKey struct{}
		limited := bucket.Guard(l.Requester("k"), func(ctx context.Context) (string, error) {
			if ctx.Value(ctxKey{}) == nil {
				t.Error("the function got another context than its caller's")
			}
			return "done", nil
		})
		for second := range 3 {
			succeeded, failed := 0, 0
			for range 5 {
				switch result, err := limited(context.WithValue(t.Context(), ctxKey{}, true)); {
				case err == nil && result == "done":
					succeeded++
				case errors.Is(err, bucket.ErrDenied):
					failed++
				}
			}
			if succeeded != 2 || failed != 3 {
				t.Errorf("second %d: %d succeeded and %d failed, want 2 and 3", second, succeeded, failed)
			}
			time.Sleep(time.Second)
		}
	})
}
