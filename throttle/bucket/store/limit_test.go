package store

import (
	"math"
	"testing"
	"time"
)

// TestLimit_Valid checks that valid and explain agree.
func TestLimit_Valid(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 1000, 1e9, 1e9 + 1, 3e17, math.MaxInt64}
	sound := 0
	for _, capacity := range odd {
		for _, refill := range odd {
			for _, period := range odd {
				for a := range Algorithm(3) {
					l := Limit{Capacity: capacity, Refill: refill, Period: time.Duration(period), Algorithm: a}.WithDefaults()
					if got, err := l.valid(), l.explain(); got != (err == nil) {
						t.Errorf("%+v: got sound %t, but %v", l, got, err)
					} else if got {
						sound++
					}
				}
			}
		}
	}
	if sound < 100 {
		t.Errorf("got %d sound limits want at least 100", sound)
	}
}
