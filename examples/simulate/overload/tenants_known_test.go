//go:build !race

package overload

import "testing"

// TestTenantsKnownFigures plays scenarios with tenants. The bounds are a little wider than what five seeds
// give. The backend is blind: it rejects about 9 % of the calls that are sent, of any tenant. So a tenant of
// which no call is shed has a success of 91 %.
func TestTenantsKnownFigures(t *testing.T) {
	for _, tt := range []struct {
		scenario, policy string
		bound            bound
	}{
		{"tenants-greedy", "tiered", bound{"tenants_below", 0.15, 0.18}},
		{"tenants-greedy", "fair", bound{"tenants_below", 0.89, 1}},
		{"tenants-greedy-local", "fair", bound{"tenants_below", 0.90, 1}},
		{"tenants-zipf-local", "tiered", bound{"tenants_fair", 0, 0.1}},
		{"tenants-zipf-local", "fair", bound{"tenants_fair", 0.98, 1}},
		{"tenants-weights", "fair", bound{"tenants_worst", 0.95, 1}},
		{"tenants-weights-local", "fair", bound{"tenants_worst", 0.95, 1}},
	} {
		f := play(t, scenario(t, tt.scenario), policy(t, tt.policy), 1, Options{}).Figures
		within(t, tt.scenario+", "+tt.policy, f, tt.bound)
	}
}
