package bucket_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// mad is a store that answers what it likes.
type mad struct {
	*remote

	answer bucket.Decision
}

func (s mad) Take(ctx context.Context, r bucket.Request) (bucket.Decision, error) {
	if s.calls.Load() >= 1000 { // whoever asks without a pause would ask for ever
		return s.remote.Take(ctx, r)
	}
	s.calls.Add(1)
	return s.answer, nil
}

// TestAnAnswerThatMakesNoSenseIsNone: what the policy says holds, and the store is soon left alone.
func TestAnAnswerThatMakesNoSenseIsNone(t *testing.T) {
	for name, answer := range map[string]bucket.Decision{
		"nothing at all":                     {},
		"denied, and not for how long":       {Limit: 5},
		"denied, until before now":           {RetryAfter: -time.Second},
		"denied, and granted":                {Granted: 2, RetryAfter: time.Second},
		"granted nothing":                    {Allowed: true, RetryAfter: time.Second},
		"granted less than nothing":          {Allowed: true, Granted: -1},
		"granted less than nothing, and not": {Granted: -1, RetryAfter: time.Second},
		"granted less than wanted":           {Allowed: true, Granted: 1, RetryAfter: time.Second},
		"granted more than wanted":           {Allowed: true, Granted: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := mad{newRemote(), answer}
				closed := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5), OnFailure: bucket.FailClosed})
				open := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5)})
				for range 10 {
					if err := closed.Wait(t.Context(), "k", 2); !errors.Is(err, bucket.ErrStore) {
						t.Fatalf("FailClosed, Wait: got %v want %v", err, bucket.ErrStore)
					}
					if err := closed.Take(t.Context(), "k", 2); !errors.Is(err, bucket.ErrStore) {
						t.Fatalf("FailClosed, Take: got %v want %v", err, bucket.ErrStore)
					}
					if d, err := open.AllowN(t.Context(), "k", 2); err != nil || d.Granted != 2 || d.Source != bucket.FromPolicy {
						t.Fatalf("FailOpen: got %+v, %v want both from the policy", d, err)
					}
					if err := open.Wait(t.Context(), "k", 2); err != nil {
						t.Fatalf("FailOpen, Wait: got %v want nil", err)
					}
				}
				if got := store.calls.Load(); got != 6 {
					t.Errorf("got %d questions want three of each limiter", got)
				}
			})
		})
	}
}
