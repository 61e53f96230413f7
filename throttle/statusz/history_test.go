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

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		before, now uint64
		seconds     float64
		want        float32
	}{
		{5, 10, 2, 2.5},
		{10, 10, 1, 0},
		{10, 5, 1, 0},
		{0, 5, 0, 0},
		{0, math.MaxUint64, 1e-300, 0},
		{0, 499, 100, 5}, // samples are not exactly a second apart
		{0, 1234, 100, 12.3},
		{0, 99996, 100, 1000},
		{0, 1234560, 100, 12346},
	} {
		if got := roundRate(rate(tt.before, tt.now, tt.seconds)); got != tt.want {
			t.Errorf("from %d to %d in %v s: got %v want %v", tt.before, tt.now, tt.seconds, got, tt.want)
		}
	}
}
