package bucket_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestErrors checks which sentinels each error is, and how a throttle and a backoff classify it.
func TestErrors(t *testing.T) {
	store := newFailing()
	limit := bucket.Limit{Capacity: 6, Refill: 1, Period: time.Hour}
	lost := limiter(t, bucket.Config{Store: store, Limit: limit, OnFailure: bucket.FailClosed, StoreTimeout: time.Minute})
	shared := limiter(t, bucket.Config{Store: store, Limit: limit, OnFailure: bucket.LocalShare, Replicas: 3, StoreTimeout: time.Minute})
	l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
	closed := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
	_ = closed.Close()
	_ = l.Take(t.Context(), "k", 1)
	sentinels := []error{bucket.ErrDenied, bucket.ErrStore, bucket.ErrClosed, bucket.ErrExceedsCapacity, bucket.ErrNegative}
	for _, tt := range []struct {
		name string
		err  error
		is   error
		shed bool
	}{
		{"denied", l.Take(t.Context(), "k", 1), bucket.ErrDenied, true},
		{"denied, nil", (*bucket.DeniedError)(nil), bucket.ErrDenied, true},
		{"denied, itself", bucket.ErrDenied, bucket.ErrDenied, true},
		{"no answer", lost.Take(t.Context(), "k", 1), bucket.ErrStore, true},
		{"no answer to Return", lost.Return(t.Context(), "k", 1), bucket.ErrStore, true},
		{"no answer to Reset", lost.Reset(t.Context(), "k"), bucket.ErrStore, true},
		{"more than a share", shared.Take(t.Context(), "k", 3), bucket.ErrStore, true},
		{"no answer, itself", bucket.ErrStore, bucket.ErrStore, true},
		{"closed", closed.Wait(t.Context(), "k", 1), bucket.ErrClosed, true},
		{"closed, and nothing asked for", closed.Wait(t.Context(), "k", 0), bucket.ErrClosed, true},
		{"too many", l.Take(t.Context(), "k", 2), bucket.ErrExceedsCapacity, false},
		{"less than none", l.Take(t.Context(), "k", -1), bucket.ErrNegative, false},
	} {
		for _, s := range sentinels {
			if got := errors.Is(tt.err, s); got != (s == tt.is) { //nolint:errorlint // the very sentinel is meant
				t.Errorf("%s: is %v: got %v", tt.name, s, got)
			}
		}
		if tt.is == bucket.ErrStore && tt.err != tt.is && !errors.Is(tt.err, errDown) { //nolint:errorlint // the very sentinel is meant
			t.Errorf("%s: got %v want the store's error in it", tt.name, tt.err)
		}
		outcome, fault := throttle.DefaultClassify(t.Context(), tt.err), throttle.FaultOf(tt.err)
		if errors.Is(tt.err, throttle.ErrShed) != tt.shed || (outcome == throttle.Ignored) != tt.shed || (fault == throttle.FaultShed) != tt.shed {
			t.Errorf("%s: got %v and %v want shed: %v", tt.name, outcome, fault, tt.shed)
		}
		equals(t, backoff.Classify(tt.err) == backoff.Ignored, tt.shed, "%s: a backoff ignores it", tt.name)
	}
	err := lost.Take(t.Context(), "k", 1)
	if why := errors.Unwrap(err); why == nil || err.Error() != "bucket: the store gave no answer: "+why.Error() {
		t.Errorf("the reason: got %v of %q", why, err)
	}
}
