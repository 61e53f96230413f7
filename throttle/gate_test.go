package throttle

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/late"
	"github.com/spillway-go/spillway/throttle/internal/window"
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

// TestGate_probesOfAClockThatGoesBack: a gate whose calls hang admits one a second, also by an earlier time.
func TestGate_probesOfAClockThatGoesBack(t *testing.T) {
	g, ring := &gate{}, late.New(time.Second, 1, 1)
	g.open(0, [MaxPriorities]window.Counts{})
	ring.Begin(0, 0, 0)
	g.limits[0].Store(1)
	g.passed.Store(int64(time.Hour))
	admitted := 0
	for now := time.Minute; now < time.Minute+10*time.Second; now += 100 * time.Millisecond {
		if !g.refuses(0, ring, now) {
			admitted++
		}
	}
	wantSame(t, "admitted in 10 s", admitted, 10)
}
