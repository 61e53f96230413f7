package fairness

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFairRate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		demands []float64 // of tenants
		served  float64
		want    float64
	}{
		{"equal", []float64{100, 100, 100, 100}, 0.25, 25},
		{"one above", []float64{10, 10, 10, 10, 60}, 0.6, 20},
		{"one far above", []float64{1, 1, 1, 1000}, 0.1, 97.3},
		{"all served", []float64{50, 96}, 1, 96},
		{"nothing served", []float64{50, 100}, 0, 0},
		{"none", nil, 0.5, 0},
	} {
		var h histogram
		for _, d := range tt.demands {
			low := bucketOf(d, 0)
			part := (d - demandOf(low)) / (demandOf(low+1) - demandOf(low))
			h.calls[low] += float32(d * (1 - part))
			h.calls[low+1] += float32(d * part)
			h.total += d
		}
		if got := h.fairRate(tt.served); math.Abs(got-tt.want) > 0.03*tt.want {
			t.Errorf("%s: got %.2f, want %.2f", tt.name, got, tt.want)
		}
	}
}

func TestBuckets(t *testing.T) {
	for _, x := range []float64{1.0 / 64, 0.3, 1, 1.24, 7, 1000, 1 << 21} {
		dice, sum := rand.New(rand.NewPCG(1, 1)), 0.0
		for range 10_000 {
			sum += demandOf(bucketOf(x, dice.Uint64()))
		}
		if got := sum / 10_000; math.Abs(got/x-1) > 0.01 {
			t.Errorf("the mean of the buckets of %v is %v", x, got)
		}
	}
	if bucketOf(0, 0) != 0 || bucketOf(math.Inf(1), 0) != numBuckets-1 {
		t.Error("numbers out of range must be in the first and last bucket")
	}
}
