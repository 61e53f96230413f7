package throttle

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
)

// TestRatio is the number of calls that reach a backend for each call that it accepts.
func TestRatio(t *testing.T) {
	for _, k := range sized([]float64{1.1, 1.5, 2, 3}, []float64{1.1, 2}) {
		const seconds, perSecond, capacity = 300, 100, 10
		l := newLab(t, 1, Config{Policy: SRE, Ratio: k, MinimumRate: 0.1})
		room, sent, accepted := 0.0, 0, 0
		for i := range seconds * perSecond {
			l.now = l.now.Add(time.Second / perSecond)
			room = min(room+float64(capacity)/perSecond, capacity)
			if i == 120*perSecond { // it has settled
				sent, accepted = 0, 0
			}
			_ = l.Do(t.Context(), High, func(context.Context) error {
				sent++
				if room < 1 {
					return context.DeadlineExceeded
				}
				room--
				accepted++
				return nil
			})
		}
		if got := float64(sent) / float64(accepted); math.Abs(got-k) > 0.05 {
			t.Errorf("calls sent for each accepted: got %.2f want %v", got, k)
		}
	}
}

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
