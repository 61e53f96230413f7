package throttle

import (
	"context"
	"fmt"
	"testing"
)

// TestTheFormula: the padding is the minimum rate times the window.
func TestTheFormula(t *testing.T) {
	const perMinute = 1.0 / 60
	for _, c := range []struct {
		k, rate            float64
		accepted, rejected int
		want               float64
	}{
		{2, perMinute, 0, 0, 0},
		{2, perMinute, 100, 0, 0},
		{2, perMinute, 50, 50, 0},
		{2, perMinute, 0, 1, 1. / 2},
		{2, perMinute, 50, 51, 1. / 102},
		{2, perMinute, 100, 300, 200. / 401},
		{1.1, perMinute, 100, 300, 290. / 401},
		{4, perMinute, 100, 300, 0},
		{2, 0, 100, 300, 200. / 460}, // one per second, in a minute
		{2, 0, 0, 5, 5. / 65},        // a cold start is hardly shed
		{2, 10, 100, 300, 200. / 1000},
	} {
		l := newLab(t, 1, Config{Policy: SRE, Ratio: c.k, MinimumRate: c.rate, Rand: func() float64 { return 1 }})
		l.calls(c.accepted, High, nil)
		l.calls(c.rejected, High, context.DeadlineExceeded)
		wantNear(t, fmt.Sprintf("probability with %+v", c), l.RejectionProbability(High), c.want)
	}
}
