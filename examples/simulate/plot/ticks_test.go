package plot

import (
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	tests := []struct {
		low, high float64
		most      int
		want      string
	}{
		{0, 100, 6, "0 20 40 60 80 100"},
		{0, 300, 6, "0 60 120 180 240 300"},
		{0, 299.5, 12, "0 30 60 90 120 150 180 210 240 270"},
		{0, 420, 6, "0 120 240 360"},
		{0, 1, 6, "0 0.2 0.4 0.6 0.8 1"},
		{-1, 1, 5, "-1 -0.5 0 0.5 1"},
		{3, 17, 4, "5 10 15"},
		{0, 36000, 6, "0 7200 14400 21600 28800 36000"},
		{0, 1e6, 6, "0 200000 400000 600000 800000 1000000"},
		{0, 300, 0, ""},
	}
	for _, tt := range tests {
		var labels []string
		for _, value := range ticks(tt.low, tt.high, tt.most) {
			labels = append(labels, tickLabel(value))
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%v to %v, %d at most: got %q, want %q", tt.low, tt.high, tt.most, got, tt.want)
		}
	}
	if got := tickLabel(math.Copysign(0, -1)); got != "0" {
		t.Errorf("got %q for negative zero, want 0", got)
	}
}
