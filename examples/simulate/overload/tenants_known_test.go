//go:build !race

package overload

import "testing"

// TestTenantsKnownFigures plays scenarios with tenants. The bounds are a little wider than what five seeds
// give. The backend is blind: it rejects calls of any tenant. Those are 9 % of what is sent, so a tenant of which no call is
// shed has a success of 91 %. If it says that it is full, they are 2 %.
func TestTenantsKnownFigures(t *testing.T) {
	for _, tt := range []struct {
		scenario, policy string
		certain          bool
		bound            bound
	}{
		{"tenants-greedy", "tiered", false, bound{"tenants_below", 0.15, 0.18}},
		{"tenants-greedy", "fair", false, bound{"tenants_below", 0.89, 1}},
		{"tenants-greedy-local", "fair", false, bound{"tenants_below", 0.90, 1}},
		{"tenants-greedy", "fair", true, bound{"tenants_below", 0.965, 1}},
		{"tenants-greedy-local", "fair", true, bound{"tenants_below", 0.97, 1}},
		{"tenants-zipf-local", "tiered", false, bound{"tenants_fair", 0, 0.1}},
		{"tenants-zipf-local", "fair", false, bound{"tenants_fair", 0.98, 1}},
		{"tenants-weights", "fair", false, bound{"tenants_worst", 0.95, 1}},
		{"tenants-weights-local", "fair", false, bound{"tenants_worst", 0.95, 1}},
	} {
		t.Run(tt.scenario+", "+tt.policy, func(t *testing.T) {
			t.Parallel()
			f := play(t, scenario(t, tt.scenario), policy(t, tt.policy), 1, Options{Certain: tt.certain}).Figures
			within(t, f, tt.bound)
		})
	}
}
