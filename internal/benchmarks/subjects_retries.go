package main

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The peers that backoffs are compared with.
const (
	peerNextBackOff = "cenkalti/backoff NextBackOff"
	peerRetry       = "cenkalti/backoff Retry"
	peerCubic       = "AWS-style adaptive rate"
)

// retries returns peers that can wait for a service that throttles. In these rows none of them waits.
// NextBackOff runs on one processor only, because it is not safe for concurrent use.
func retries() []*subject {
	ctx, one, rate := context.Background(), backoff.NewExponentialBackOff(), newCubic()
	return []*subject{
		{name: peerNextBackOff, op: func() error {
			if one.NextBackOff() == backoff.Stop {
				return errShed
			}
			return noop(ctx)
		}},
		{name: peerRetry, pair: true, op: func() error {
			_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, noop(ctx) })
			return err
		}},
		{name: peerCubic, pair: true, op: func() error {
			if !rate.take(time.Now()) {
				return errShed
			}
			err := noop(ctx)
			rate.served(time.Now())
			return err
		}},
	}
}

// cubic does what the adaptive mode of AWS's SDKs does for a successful call. It takes a token of a
// bucket, measures the rate of calls, and moves the limit along a cubic curve. It was written for this
// comparison. Its last throttled call was an hour ago, so that its limit does not hold it back.
type cubic struct {
	mu        sync.Mutex
	fill      float64 // tokens per second
	tokens    float64
	at        time.Time // of tokens
	peak, k   float64   // the curve
	cut       time.Time
	measured  float64 // calls per second
	counted   float64
	countedAt time.Time
}

const (
	cubicScale = 0.4
	cubicCut   = 0.7
	cubicBin   = 500 * time.Millisecond
)

func newCubic() *cubic {
	now := time.Now()
	return &cubic{
		fill: unlimited, tokens: unlimited, at: now, peak: unlimited, k: math.Cbrt(unlimited * (1 - cubicCut) / cubicScale),
		cut: now.Add(-time.Hour), measured: unlimited, countedAt: now,
	}
}

// take takes a token if there is one.
func (c *cubic) take(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = min(c.fill, c.tokens+now.Sub(c.at).Seconds()*c.fill)
	c.at = now
	if c.tokens < 1 {
		return false
	}
	c.tokens--
	return true
}

// served counts a call and moves the rate.
func (c *cubic) served(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted++
	if d := now.Sub(c.countedAt); d >= cubicBin {
		c.measured = 0.8*c.counted/d.Seconds() + 0.2*c.measured
		c.counted, c.countedAt = 0, now
	}
	rate := cubicScale*math.Pow(now.Sub(c.cut).Seconds()-c.k, 3) + c.peak
	c.fill = max(1, min(rate, 2*c.measured))
}
