package bucket

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Algorithm says how a bucket is refilled.
type Algorithm uint8

const (
	// Continuous refills evenly: any time t sees at most Capacity + t * Refill / Period tokens. The default.
	Continuous Algorithm = iota
	// Fixed fills the bucket at the beginning of each period, which lies on a grid from 1970 on, and throws away what was left. Within
	// one period it grants at most Capacity, but twice that in a moment around the border of two.
	Fixed

	numAlgorithms = iota
)

// String returns the algorithm's word: "continuous" or "fixed".
func (a Algorithm) String() string {
	return enum.Name("algorithm", a, "continuous fixed")
}

// MarshalText returns the algorithm's word, and an error if it has none.
func (a Algorithm) MarshalText() ([]byte, error) { return enum.Marshal(a, Continuous, Fixed) }

// UnmarshalText takes the algorithm's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (a *Algorithm) UnmarshalText(text []byte) error {
	return enum.Unmarshal(a, text, Continuous, Fixed)
}

// Bounds of a Limit. Times are kept in nanoseconds since 1970, in 63 bits.
const (
	shortestPeriod = time.Microsecond
	longestPeriod  = 366 * 24 * time.Hour
	longestFill    = 10 * longestPeriod // from empty to full
)

// Limit is how many tokens a bucket grants.
type Limit struct {
	// Capacity is how many tokens the bucket holds, and so how many can be taken at once. At least 1.
	Capacity int64
	// Refill is how many tokens come back in a Period. Zero is Capacity. A Fixed bucket is always filled.
	Refill int64
	// Period is how long that takes, 1 us to 366 days. Zero is a second.
	Period time.Duration
	// Algorithm says how. Default Continuous.
	Algorithm Algorithm
}

// PerSecond returns the limit of n tokens per second, of which all may be taken at once.
func PerSecond(n int64) Limit { return Limit{Capacity: n, Refill: n, Period: time.Second} }

// Every returns the limit of one token per period, of which none is saved up.
func Every(period time.Duration) Limit {
	if period == 0 {
		period = -1 // which is refused; none would mean a second
	}
	return Limit{Capacity: 1, Refill: 1, Period: period}
}

// Per returns the limit of n tokens per period, of which all may be taken at once.
func Per(n int64, period time.Duration) Limit {
	if period == 0 {
		period = -1 // as Every
	}
	return Limit{Capacity: n, Refill: n, Period: period}
}

// WithBurst returns a copy by which up to n tokens may be taken at once, and as many come back as before. Of a [Fixed] limit, which is all there is in a
// period, it is that.
func (l Limit) WithBurst(n int64) Limit {
	if l = l.WithDefaults(); l.Refill == 0 {
		l.Refill = -1 // which is refused; none would mean n
	}
	l.Capacity = n
	return l
}

// WithDefaults returns a copy in which no zero means a default any more.
func (l Limit) WithDefaults() Limit {
	if l.Refill == 0 || l.Algorithm == Fixed {
		l.Refill = l.Capacity
	}
	if l.Period == 0 {
		l.Period = time.Second
	}
	return l
}

// Validate returns what is wrong with a limit, with field, value and range.
func (l Limit) Validate() error {
	l = l.WithDefaults()
	if l.sound() { // stores ask at each request
		return nil
	}
	return l.explain()
}

// explain says what is wrong with a limit without zeros.
func (l *Limit) explain() error {
	var errs []error
	demand := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("bucket: Limit.%s is %v: want %s", field, value, want))
		}
	}
	demand(l.Capacity >= 1, "Capacity", l.Capacity, "1 or more")
	demand(l.Refill >= 1, "Refill", l.Refill, "1 or more, or 0 for Capacity")
	demand(l.Period >= shortestPeriod && l.Period <= longestPeriod, "Period", l.Period, "1µs to 8784h, or 0 for a second")
	demand(l.Algorithm < numAlgorithms, "Algorithm", uint8(l.Algorithm), "Continuous or Fixed")
	if len(errs) > 0 || l.Algorithm == Fixed {
		return errors.Join(errs...)
	}
	demand(l.Refill <= int64(l.Period), "Refill", l.Refill, fmt.Sprintf("at most one per nanosecond of Period: %d", int64(l.Period)))
	demand(l.Capacity <= int64(longestFill)/int64(l.Interval()), "Capacity", l.Capacity,
		fmt.Sprintf("at most %d, which at one per %v takes ten years to fill", int64(longestFill)/int64(max(1, l.Interval())), l.Interval()))
	return errors.Join(errs...)
}

// sound reports whether nothing is wrong with a limit without zeros. It costs no memory.
func (l *Limit) sound() bool {
	if l.Capacity < 1 || l.Refill < 1 || l.Period < shortestPeriod || l.Period > longestPeriod || l.Algorithm >= numAlgorithms {
		return false
	}
	return l.Algorithm == Fixed || l.Refill <= int64(l.Period) && l.Capacity <= int64(longestFill)/int64(l.interval())
}

// Interval is the time in which one token comes back, rounded up to a whole nanosecond, so that a bucket never grants too much: a million
// per second are exact, three million are granted at 2,994,012.
func (l Limit) Interval() time.Duration {
	l = l.WithDefaults()
	if l.Refill <= 0 {
		return math.MaxInt64
	}
	return l.interval()
}

// interval is Interval of a valid limit without zeros.
func (l *Limit) interval() time.Duration { return time.Duration((int64(l.Period)-1)/l.Refill + 1) }
