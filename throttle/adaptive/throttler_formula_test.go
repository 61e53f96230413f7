package adaptive

import (
	"math"
	"testing"

	"github.com/spillway-go/spillway/throttle/internal/decision"
)

func TestThrottleProbability(t *testing.T) {
	tests := []struct {
		name                              string
		requests, accepts, ratio, padding float64
		want                              float64
	}{
		{"nothing happened", 0, 0, 2, 8, 0},
		{"everything accepted", 100, 100, 2, 8, 0},
		{"half accepted, ratio 2", 100, 50, 2, 8, 0},
		{"just under half accepted", 100, 49, 2, 8, 2.0 / 108},
		{"nothing accepted", 100, 0, 2, 8, 100.0 / 108},
		{"one refusal", 1, 0, 2, 8, 1.0 / 9},
		{"a quarter accepted", 100, 25, 2, 8, 50.0 / 108},
		{"ratio 1 throttles all that is refused", 100, 90, 1, 10, 10.0 / 110},
		{"large ratio forgives much", 1000, 1, 1e6, 8, 0},
		{"padding weighs on few", 4, 0, 2, 4, 0.5},
		{"padding hardly weighs on many", 1e6, 0, 2, 8, 1e6 / (1e6 + 8)},
		{"lost padding stays below 1", 1e6, 0, 2, math.SmallestNonzeroFloat64, decision.Largest},
		{"nothing and no padding to speak of", 0, 0, 2, math.SmallestNonzeroFloat64, 0},
		{"the most there can be", math.MaxUint64, 0, 1, 8, decision.Largest},
		{"the most accepted", math.MaxUint64, math.MaxUint64, 1e6, 1e6, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := throttleProbability(tt.requests, tt.accepts, tt.ratio, tt.padding)
			if math.Abs(got-tt.want) > 1e-15 || got < 0 || got >= 1 {
				t.Errorf("throttleProbability(%v, %v, %v, %v) = %v, want %v",
					tt.requests, tt.accepts, tt.ratio, tt.padding, got, tt.want)
			}
		})
	}
}
