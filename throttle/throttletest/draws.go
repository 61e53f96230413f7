package throttletest

import (
	"slices"
	"sync/atomic"
)

// Always returns a Config.Rand that draws r each time. With 0 every call is shed that may be, with 0.5 every call whose probability
// of being shed is above one half, with 1 none.
func Always(r float64) func() float64 {
	return func() float64 { return r }
}

// Sequence returns a Config.Rand that draws the given numbers in turn, over and over; without any, always 0. It is safe for
// concurrent use.
func Sequence(rs ...float64) func() float64 {
	if len(rs) == 0 {
		return Always(0)
	}
	rs = slices.Clone(rs)
	var drawn atomic.Uint64
	return func() float64 { return rs[(drawn.Add(1)-1)%uint64(len(rs))] }
}
