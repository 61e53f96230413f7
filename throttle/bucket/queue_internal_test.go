package bucket

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
)

// TestQueue_MinWait checks the shortest wait, also for totals above the largest int64.
func TestQueue_MinWait(t *testing.T) {
	now := time.Unix(1e9, 0)
	wide := Limit{Capacity: 10, Refill: 1, Period: refill.MaxPeriod}
	for name, c := range map[string]struct {
		limit Limit
		next  time.Duration // when there are 4
		ahead int64
		want  time.Duration
	}{
		"a full bucket":   {PerSecond(10), 0, 10, 0},
		"two more":        {PerSecond(10), 0, 12, 200 * time.Millisecond},
		"less":            {PerSecond(10), time.Second, 3, 0},
		"just as many":    {PerSecond(10), time.Second, 4, time.Second},
		"one more":        {PerSecond(10), time.Second, 5, 1100 * time.Millisecond},
		"fixed":           {Limit{Capacity: 10, Refill: 10, Period: time.Second, Algorithm: Fixed}, time.Second, 500, time.Second},
		"above 63 bits":   {wide, 0, 310, math.MaxInt64},
		"above 64 bits":   {wide, 0, math.MaxInt64, math.MaxInt64},
		"the sum is":      {wide, refill.MaxPeriod, 4 + 291, math.MaxInt64},
		"nearly too much": {wide, 0, 10 + 291, 291 * refill.MaxPeriod},
	} {
		q := queue{enough: 4}
		if c.next > 0 {
			q.tokenAt = now.Add(c.next)
		}
		if got := q.minWait(&c.limit, c.ahead, now); got != c.want {
			t.Errorf("%s: got %v want %v", name, got, c.want)
		}
	}
	for _, c := range [][3]int64{{1, 2, 3}, {math.MaxInt64, 0, math.MaxInt64}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}} {
		if got := addCapped(c[0], c[1]); got != c[2] {
			t.Errorf("%d and %d: got %d want %d", c[0], c[1], got, c[2])
		}
	}
}
