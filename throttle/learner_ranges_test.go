package throttle

import (
	"math"
	"testing"
	"time"
)

// TestRangesOfDurations: each duration is in a range that ends above it, and not far above.
func TestRangesOfDurations(t *testing.T) {
	last := 0
	for d := time.Duration(1); d > 0 && d < 4*time.Hour; d += d/50 + 1 {
		i := rangeOf(d)
		if i < last || i > last+1 {
			t.Fatalf("%v: got range %d after %d", d, i, last)
		}
		last = i
		if end := endOf(i); end <= d || d > 100*time.Microsecond && end > d+d/8+1 {
			t.Errorf("%v: got a range up to %v", d, end)
		}
	}
	for d, want := range map[time.Duration]int{-1: 0, 0: 0, math.MaxInt64: numDurations - 1} {
		if got := rangeOf(d); got != want {
			t.Errorf("%v: got range %d want %d", d, got, want)
		}
	}
}
