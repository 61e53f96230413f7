package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cenkalti/backoff/v5"

	"github.com/spillway-go/spillway/throttle"
)

// askRetrying retries around the throttle, so each attempt passes it.
func askRetrying(ctx context.Context, th *throttle.Throttle, ask func(context.Context) (string, error)) (string, error) {
	return backoff.Retry(ctx, func() (string, error) {
		answer, err := throttle.Do(ctx, th, throttle.Medium, ask)
		if errors.Is(err, throttle.ErrShed) {
			return "", backoff.Permanent(err) // nothing was sent, and a retry adds the load that was shed
		}
		return answer, err
	}, backoff.WithMaxTries(3))
}

func TestCenkalti_DoesNotRetryAShedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it waits before a retry
		th, asked := throttle.Must(throttle.New(decided("answers"))), uint64(0)
		for shed := 0; shed < 20; {
			answer, err := askRetrying(t.Context(), th, func(context.Context) (string, error) {
				asked++
				return "", throttle.MarkRejected(errors.New("no room"))
			})
			switch {
			case err == nil:
				t.Fatalf("got %q want an error", answer)
			case errors.Is(err, throttle.ErrShed):
				shed++
			}
		}
		if c := countsOf(th); c != (counts{rejected: asked, shed: 20}) || asked == 0 {
			t.Errorf("%d calls sent: the throttle counted %+v want 20 shed", asked, c)
		}
	})
}
