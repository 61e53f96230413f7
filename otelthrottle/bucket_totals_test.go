package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// bucketAudit counts series from the decisions of callers, and from the store events of hooks.
type bucketAudit struct{ audit }

func (a *bucketAudit) hooks() bucket.Hooks {
	return bucket.Hooks{StoreCalled: func(_ context.Context, e bucket.StoreEvent) {
		a.count(semconv.MetricBucketStoreDuration, withError([]string{"throttle.bucket.name", e.Limiter.Name()}, throttle.FaultOf(e.Err))...)
	}}
}

// decided counts a decision. An error that is not the store's is not a decision.
func (a *bucketAudit) decided(l *bucket.Limiter, d bucket.Decision, err error) {
	result := "denied"
	switch {
	case errors.Is(err, bucket.ErrStore):
		result = "failed_closed"
	case err != nil:
		return
	case d.Allowed && d.Source == bucket.SourcePolicy:
		result = "failed_open"
	case d.Allowed:
		result = "granted"
	case d.Source == bucket.SourcePolicy:
		result = "failed_closed"
	}
	if l.Stats().OnFailure == bucket.LocalShare {
		result = strings.NewReplacer("failed_open", "share_granted", "failed_closed", "share_denied").Replace(result)
	}
	a.count(semconv.MetricBucketRequests, "throttle.bucket.name", l.Name(), "throttle.bucket.result", result)
	if d.Allowed {
		a.mu.Lock()
		a.series[series(semconv.MetricBucketTokens, "throttle.bucket.name", l.Name())] += float64(d.Granted)
		a.mu.Unlock()
	}
}

// randomRequest asks for tokens in some form, or for none, or for too many.
func (a *bucketAudit) randomRequest(t *testing.T, l *bucket.Limiter, dice *rand.Rand) {
	ctx, key, n := context.Background(), fmt.Sprint(dice.IntN(3)), int64(dice.IntN(4))
	switch dice.IntN(10) {
	case 0:
		if _, err := l.Peek(ctx, key); err != nil && !errors.Is(err, bucket.ErrStore) {
			t.Errorf("Peek: got error %v want nil or the store's", err)
		}
	case 1:
		d, err := l.DecideN(ctx, key, 1_000_000)
		a.decided(l, d, err)
	case 2:
		over, cancel := context.WithCancel(ctx)
		cancel()
		d, err := l.Decide(over, key)
		a.decided(l, d, err)
	case 3, 4:
		if d, err := l.DecideAtMost(ctx, key, n); n > 0 {
			a.decided(l, d, err)
		}
	case 5, 6:
		if d, err := l.DecideN(ctx, key, n); n > 0 {
			a.decided(l, d, err)
		}
	default:
		d, err := l.Decide(ctx, key)
		a.decided(l, d, err)
	}
}

// randomWait waits for tokens of a bucket that has them soon.
func (a *bucketAudit) randomWait(t *testing.T, l *bucket.Limiter, dice *rand.Rand) {
	n := 1 + int64(dice.IntN(3))
	if err := l.Wait(context.Background(), "", n); err != nil {
		t.Errorf("Wait: got error %v want nil", err)
	}
	a.decided(l, bucket.Decision{Allowed: true, Granted: n}, nil)
}

// TestPulledTotalsOfBucketsAreTheDecisions asks limiters of two names for tokens at random, with stores that fail and every policy, while
// collections run, and then compares every series.
func TestPulledTotalsOfBucketsAreTheDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, a := newLab(t, setup{}), &bucketAudit{audit{series: snapshot{}}}
		doubtful := func() store.Store {
			return &doubtfulStore{bucket.NewMemoryStore(), inTurn(nil, nil, nil, errPlain, nil, context.DeadlineExceeded)}
		}
		var limiters []*bucket.Limiter
		for _, c := range []bucket.Config{
			{Name: "a", Limit: bucket.PerSecond(4)},
			{Name: "a", Store: doubtful(), OnFailure: bucket.FailOpen},
			{Name: "a", Store: doubtful(), OnFailure: bucket.FailClosed, OneByOne: true},
			{Name: "b", Store: doubtful(), OnFailure: bucket.LocalShare, Limit: bucket.Every(time.Minute)},
		} {
			c.Hooks = a.hooks()
			limiters = append(limiters, l.limiter(t, c))
		}
		atRandom(16, 9, func(dice *rand.Rand) {
			for range few(200, 80) {
				if i := dice.IntN(len(limiters) + 1); i < len(limiters) {
					a.randomRequest(t, limiters[i], dice)
				} else {
					a.randomWait(t, limiters[0], dice)
				}
			}
			l.read(t)
		})
		synctest.Wait() // for what is counted after the answer
		for name, of := range map[string][2]float64{"a": {4, 10}, "b": {1.0 / 60, 1}} {
			a.series[series(semconv.MetricBucketLimit, "throttle.bucket.name", name)] = of[0]
			a.series[series(semconv.MetricBucketCapacity, "throttle.bucket.name", name)] = of[1]
		}
		l.read(t).positive().want(t, a.series)
		a.series.wantSome(t,
			"name=a,throttle.bucket.result=granted", "name=a,throttle.bucket.result=denied", "name=a,throttle.bucket.result=failed_open",
			"name=a,throttle.bucket.result=failed_closed", "name=b,throttle.bucket.result=share_denied", "name=b,throttle.bucket.result=denied", "tokens{throttle.bucket.name=b",
			"error.type=timeout,throttle.bucket.name=a", "error.type=_OTHER,throttle.bucket.name=b",
		)
	})
}
