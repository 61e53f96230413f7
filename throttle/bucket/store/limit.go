package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Algorithm is how a bucket is refilled.
type Algorithm uint8

const (
	// Continuous refills a bucket evenly. In any time t it grants at most Capacity +
	// t*Refill/Period tokens. The default.
	Continuous Algorithm = iota
	// Fixed fills a bucket at the start of each period and drops the tokens that were left.
	// Periods are aligned to 1970-01-01 UTC. It grants at most Capacity in one period, but up to
	// twice Capacity in a short time around the start of a period.
	Fixed

	numAlgorithms = iota
)

// String returns "continuous" or "fixed".
func (a Algorithm) String() string { return enum.Name("algorithm", a, "continuous fixed") }

// MarshalText returns the name of the algorithm, or an error if a is not a valid algorithm.
func (a Algorithm) MarshalText() ([]byte, error) { return enum.Marshal(a, Continuous, Fixed) }

// UnmarshalText sets a to the algorithm with that name. Any other text is an error and does not
// change a.
func (a *Algorithm) UnmarshalText(text []byte) error {
	return enum.Unmarshal(a, text, Continuous, Fixed)
}

// maxFill is the longest time from empty to full: times are nanoseconds since 1970, in 63 bits.
const maxFill = 10 * refill.MaxPeriod

// Limit is the rate and the capacity of a bucket. Make it with bucket.PerSecond, bucket.Per or
// bucket.Every, or as a literal.
type Limit struct {
	// Capacity is how many tokens the bucket holds and can grant at once. At least 1.
	Capacity int64
	// Refill is how many tokens are added per Period. Default Capacity. A Fixed bucket ignores it.
	Refill int64
	// Period is 1 µs to 366 days. Default 1 second.
	Period time.Duration
	// Algorithm is how tokens are added. Default Continuous.
	Algorithm Algorithm
}

// WithBurst returns a copy with a capacity of n tokens and the same rate. A [Fixed] limit has no
// separate rate, so that n is then the number of tokens per period.
func (l Limit) WithBurst(n int64) Limit {
	if l = l.WithDefaults(); l.Refill == 0 {
		l.Refill = refill.ExplicitZero
	}
	l.Capacity = n
	return l
}

// WithDefaults returns a copy with defaults filled in.
func (l Limit) WithDefaults() Limit {
	if l.Refill == 0 || l.Algorithm == Fixed {
		l.Refill = l.Capacity
	}
	if l.Period == 0 {
		l.Period = time.Second
	}
	return l
}

// Validate returns an error that names each invalid field, its value and its range. It allocates
// nothing if the limit is valid: stores call it for each request.
func (l Limit) Validate() error {
	if full := l.WithDefaults(); full.valid() {
		return nil
	}
	return l.explain()
}

// valid reports whether a limit with defaults filled in is valid.
func (l *Limit) valid() bool {
	if l.Capacity < 1 || l.Refill < 1 || l.Period < refill.MinPeriod || l.Period > refill.MaxPeriod || l.Algorithm >= numAlgorithms {
		return false
	}
	return l.Algorithm == Fixed || l.Refill <= int64(l.Period) && l.Capacity <= int64(maxFill)/int64(l.interval())
}

// explain returns the error of an invalid limit. It does not name a field that holds its default.
func (l Limit) explain() error {
	if l == (Limit{}) {
		return errMissing
	}
	e := check.Errors{Owner: "bucket: Limit"}
	e.Want(l.Capacity >= 1, "Capacity", l.Capacity, "1 or more")
	if l.Algorithm != Fixed {
		wantSet(&e, "Refill", l.Refill, l.Refill >= 0, "1 or more")
	}
	wantSet(&e, "Period", l.Period, l.Period == 0 || check.Within(l.Period, refill.MinPeriod, refill.MaxPeriod), fmt.Sprintf("%v to %v", refill.MinPeriod, refill.MaxPeriod))
	e.Want(l.Algorithm < numAlgorithms, "Algorithm", uint8(l.Algorithm), "Continuous or Fixed")
	if err := e.Err(); err != nil || l.Algorithm == Fixed {
		return err
	}
	full := l.WithDefaults()
	field := "Refill"
	if l.Refill == 0 {
		field = "Capacity"
	}
	e.Want(full.Refill <= int64(full.Period), field, full.Refill, fmt.Sprintf("at most one token per nanosecond of Period: %d", int64(full.Period)))
	slowest := int64(maxFill) / int64(full.interval())
	e.Want(full.Capacity <= slowest, "Capacity", full.Capacity,
		fmt.Sprintf("at most %d: at one token per %v that takes ten years to fill", slowest, full.interval()))
	return e.Err()
}

// errMissing is the error of the zero Limit.
var errMissing = errors.New("bucket: Limit is missing: want a rate, such as bucket.PerSecond(10)")

// wantSet records an error for a field in which 0 means the default. An explicit 0 is shown as 0.
func wantSet[T ~int64](e *check.Errors, field string, value T, ok bool, want string) {
	if value == refill.ExplicitZero {
		value = 0
	} else {
		want += ", or 0 for the default"
	}
	e.Want(ok, field, value, want)
}

// Interval returns the time per token, rounded up to a nanosecond: a bucket never grants too much.
// A million tokens per second are exact. Three million per second become 2,994,012.
func (l Limit) Interval() time.Duration {
	l = l.WithDefaults()
	if l.Refill <= 0 || l.Period <= 0 {
		return math.MaxInt64
	}
	return l.interval()
}

// interval is Interval of a valid limit with defaults filled in.
func (l *Limit) interval() time.Duration { return time.Duration((int64(l.Period)-1)/l.Refill + 1) }

// String returns the limit in one line, such as "50 per 1s, burst 100" or "1000 per 1h0m0s,
// fixed".
func (l Limit) String() string {
	if l == (Limit{}) {
		return "no limit set"
	}
	l = l.WithDefaults()
	switch {
	case l.Algorithm == Fixed:
		return fmt.Sprintf("%d per %v, fixed", l.Capacity, l.Period)
	case l.Capacity != l.Refill:
		return fmt.Sprintf("%d per %v, burst %d", l.Refill, l.Period, l.Capacity)
	}
	return fmt.Sprintf("%d per %v", l.Refill, l.Period)
}
