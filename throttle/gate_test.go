package throttle

import (
	"fmt"
	"testing"
)

func TestLimitOf(t *testing.T) {
	for _, c := range []struct {
		p, n     int
		accepted float64
		want     int64
	}{
		{0, 4, 100, 102},
		{1, 4, 100, 90},
		{2, 4, 100, 75},
		{3, 4, 100, 60},
		{0, 1, 100, 102},
		{0, 4, 0, 3},
		{3, 4, 0, 1},
		{3, 4, 1.9, 1},
		{0, 2, 100, 102},
		{1, 2, 100, 60},
		{3, 7, 1000, 825},
	} {
		wantSame(t, fmt.Sprintf("%+v", c), limitOf(c.p, c.n, c.accepted), c.want)
	}
}

// TestTooLate: few accepted calls need the evidence of 10 s, and late calls of lower priorities do not count.
func TestTooLate(t *testing.T) {
	totals := func(accepted, late float64) *marks {
		return &marks{accepted: [MaxPriorities]float64{0, accepted}, late: [MaxPriorities]float64{0, late}}
	}
	for _, c := range []struct {
		short, long *marks
		p           int
		want        bool
	}{
		{totals(100, 10), totals(100, 10), 1, false},
		{totals(100, 11), totals(1000, 11), 1, true},
		{totals(49, 11), totals(1000, 11), 1, false},
		{totals(49, 11), totals(100, 11), 1, true},
		{totals(100, 11), totals(100, 11), 0, false},
		{totals(100, 11), totals(100, 11), 3, true},
		{totals(0, 0), totals(0, 0), 1, false},
	} {
		wantSame(t, fmt.Sprintf("%+v", c), tooLate(c.short, c.long, c.p), c.want)
	}
}
