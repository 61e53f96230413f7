package statusz

import (
	"math"
	"strconv"
	"testing"
)

// FuzzAppendNumber compares appendNumber with strconv.
func FuzzAppendNumber(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 0.00004, 0.0001, 0.99996, 99.9999, 100.05, 1e9, 1.5999998879233334e+11, -3, math.MaxFloat64, math.Inf(1), math.NaN()} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		text := string(appendNumber(nil, v))
		got, err := strconv.ParseFloat(text, 64)
		want := finite(v)
		if rounding := 4e-16 * math.Abs(want); err != nil || math.Abs(got-want) > 0.00006+rounding {
			t.Errorf("appendNumber(%v): got %q", v, text)
		}
	})
}
