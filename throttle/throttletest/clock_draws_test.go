package throttletest_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestDrawsAreThoseGivenInTurn(t *testing.T) {
	rs := []float64{0.1, 0.2, 0.3}
	sequence := throttletest.Sequence(rs...)
	rs[0] = 0.9 // it was copied
	for name, tt := range map[string]struct {
		draw func() float64
		want []float64
	}{
		"always":   {throttletest.Always(0.25), []float64{0.25, 0.25, 0.25}},
		"sequence": {sequence, []float64{0.1, 0.2, 0.3, 0.1, 0.2}},
		"one":      {throttletest.Sequence(0.7), []float64{0.7, 0.7}},
		"none":     {throttletest.Sequence(), []float64{0, 0}},
	} {
		for i, want := range tt.want {
			equal(t, fmt.Sprint(name, ", draw ", i), tt.draw(), want)
		}
	}
}
