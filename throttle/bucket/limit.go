package bucket

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// Limit is the rate and the capacity of a bucket. Make it with [PerSecond], [Per] or [Every], or as a
// literal with the fields of [store.Limit]. [store.Limit.WithBurst] changes the capacity and keeps the
// rate. A full bucket grants up to Capacity + Refill in the first Period.
type Limit = store.Limit

// Algorithm is how a bucket is refilled.
type Algorithm = store.Algorithm

const (
	// Continuous refills a bucket evenly. The default.
	Continuous Algorithm = store.Continuous
	// Fixed fills a bucket at the start of each period and drops the tokens that were left.
	Fixed Algorithm = store.Fixed
)

// PerSecond returns a limit of n tokens per second and a burst of n: a full bucket grants n at
// once. In its first second a full bucket of PerSecond(10) therefore grants up to 20: the 10 that
// it holds, and 10 that are refilled. For a smaller burst use PerSecond(10).WithBurst(1).
func PerSecond(n int64) Limit { return Limit{Capacity: n, Refill: n, Period: time.Second} }

// Per returns a limit of n tokens per period and a burst of n, as [PerSecond] does.
func Per(n int64, period time.Duration) Limit {
	if period == 0 {
		period = refill.ExplicitZero
	}
	return Limit{Capacity: n, Refill: n, Period: period}
}

// Every returns a limit of one token per period. The bucket holds one token.
func Every(period time.Duration) Limit { return Per(1, period) }

// ratedLimit is a limit with its rate, which takes two divisions to compute.
type ratedLimit struct {
	Limit
	rate refill.Rate
}

// rated returns a valid limit with defaults filled in, and its rate.
func rated(l Limit) ratedLimit {
	l = l.WithDefaults()
	return ratedLimit{l, refill.New(l.Capacity, int64(l.Interval()), int64(l.Period), l.Algorithm == Fixed)}
}

// With returns the limit after p and its rate, or the error of [Tuning.With].
func (r ratedLimit) With(p Patch) (ratedLimit, error) {
	u, err := Tuning{r.Limit}.With(p)
	if err != nil {
		return r, err
	}
	return rated(u.Limit), nil
}
