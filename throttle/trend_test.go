package throttle

import (
	"fmt"
	"testing"
	"time"
)

// TestTrend plays late calls that end every 10 ms, with T = 100 ms. In a queue their times grow, and more are open; those
// of a backend that is only slower do not grow, or the shortest do not.
func TestTrend(t *testing.T) {
	const step = 10 * time.Millisecond
	for name, c := range map[string]struct {
		timeOf func(i int) time.Duration
		others uint64  // accepted calls per late one that are not late
		more   float64 // open calls for each late one that ends
		want   bool
	}{
		"a queue":                   {func(i int) time.Duration { return 200*time.Millisecond + time.Duration(i)*step/2 }, 0, 0.5, true},
		"with calls that pass it":   {func(i int) time.Duration { return 200*time.Millisecond + time.Duration(i)*step/2 }, 1, 0.5, false},
		"a queue that hardly grows": {func(i int) time.Duration { return 200*time.Millisecond + time.Duration(i)*step/20 }, 0, 0.05, false},
		"callers that wait longer":  {func(i int) time.Duration { return 200*time.Millisecond + time.Duration(i)*step/2 }, 0, 0, false},
		"slower":                    {func(int) time.Duration { return 500 * time.Millisecond }, 0, 0, false},
		"as many end, more begin":   {func(int) time.Duration { return 500 * time.Millisecond }, 0, 2, true},
		"a few more by chance":      {func(int) time.Duration { return 500 * time.Millisecond }, 0, 0.4, false},
		"they pass others":          {func(int) time.Duration { return 500 * time.Millisecond }, 1, 4, false},
		"slower and slower, but not the shortest": {func(i int) time.Duration {
			if i%5 == 0 {
				return 200 * time.Millisecond
			}
			return 200*time.Millisecond + time.Duration(i)*step
		}, 0, 0.5, false},
		"times that vary more than they grow": {func(i int) time.Duration { // each stretch has five calls
			return 200*time.Millisecond + time.Duration(i/5)*step + time.Duration(i%5)*100*time.Millisecond
		}, 0, 0.1, false},
	} {
		var r trend
		var accepted uint64
		grew := false
		for i := range 60 {
			now := time.Second + time.Duration(i)*step
			r.add(now, c.timeOf(i), 100*time.Millisecond, 100, func() census {
				return census{now, accepted, int64(100 + c.more*float64(i))}
			})
			accepted += 1 + c.others
			grew = r.take() || grew
		}
		wantSame(t, name, grew, c.want)
	}
}

// TestStretch_grewSince: the times have grown surely, from 0.2 to 0.3 s in 0.2 s. While 20 calls ended, four more can be chance.
func TestStretch_grewSince(t *testing.T) {
	of := func(at time.Duration, mean float64, accepted uint64, open int64) *stretch {
		return &stretch{began: census{at, accepted, open}, ended: at, n: 5, sum: 5 * mean, squares: 5 * mean * mean}
	}
	first := of(time.Second, 0.2, 100, 50)
	for more, want := range map[int64]bool{-5: false, 0: false, 4: false, 5: true, 20: true} {
		wantSame(t, fmt.Sprint(more, " more are open"), of(1200*time.Millisecond, 0.3, 120, 50+more).grewSince(first), want)
	}
}
