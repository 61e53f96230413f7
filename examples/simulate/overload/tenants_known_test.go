//go:build !race

package overload

import (
	"slices"
	"testing"
)

// TestTenantsKnownFigures plays scenarios with tenants. The bounds are a little wider than what five seeds
// give. The backend is blind: it rejects about 9 % of the calls that are sent, of any tenant. So a tenant of
// which no call is shed has a success of 91 %.
func TestTenantsKnownFigures(t *testing.T) {
	for _, tt := range []struct {
		scenario, policy, figure string
		low, high                float64
	}{
		{"tenants-greedy", "tiered", "tenants_below", 0.15, 0.18},
		{"tenants-greedy", "fair", "tenants_below", 0.89, 1},
		{"tenants-greedy-local", "fair", "tenants_below", 0.90, 1},
		{"tenants-zipf-local", "tiered", "tenants_fair", 0, 0.1},
		{"tenants-zipf-local", "fair", "tenants_fair", 0.98, 1},
		{"tenants-weights", "fair", "tenants_worst", 0.95, 1},
		{"tenants-weights-local", "fair", "tenants_worst", 0.95, 1},
	} {
		values := play(t, scenario(t, tt.scenario), policy(t, tt.policy), 1, Options{}).Figures.Values()
		if got := values[slices.Index(FigureNames(), tt.figure)]; !(got >= tt.low && got <= tt.high) {
			t.Errorf("%s, %s: %s is %.3f, want %v to %v", tt.scenario, tt.policy, tt.figure, got, tt.low, tt.high)
		}
	}
}
