package plot

import (
	"math"
	"slices"
	"strconv"
)

// ticks returns round values from low to high, at most so many.
func ticks(low, high float64, most int) []float64 {
	step := tickStep((high - low) / float64(max(most-1, 1)))
	first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
	var values []float64
	for n := first; n <= last && len(values) < most; n++ {
		values = append(values, n*step)
	}
	return values
}

// tickStep returns the smallest round step that is not less than least. Above 20 it counts as clocks do, because what is drawn
// here are mostly seconds.
func tickStep(least float64) float64 {
	clock := []float64{20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200}
	if least > 10 && least <= clock[len(clock)-1] {
		return clock[slices.IndexFunc(clock, func(step float64) bool { return step >= least*(1-1e-9) })]
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// tickLabel writes a value without needless digits.
func tickLabel(value float64) string {
	rounded := math.Round(value*1e6) / 1e6
	return strconv.FormatFloat(rounded+0, 'f', -1, 64) // + 0 turns -0 into 0
}
