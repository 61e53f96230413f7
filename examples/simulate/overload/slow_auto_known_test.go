//go:build !race

package overload

import (
	"fmt"
	"testing"
)

// TestSlowAutoKnownFigures plays throttles that learn what slow is: full backends, and slow ones that are not full. The bounds
// are a little wider than what five seeds give.
func TestSlowAutoKnownFigures(t *testing.T) {
	calm := []bound{{"shed_all", 0, 0.001}}
	for _, tt := range []struct {
		scenario string
		clients  int
		bounds   []bound
	}{
		{"slow-ten", 1, calm},
		{"slow-ten", 23, calm},
		{"slow-ten-random", 23, calm},
		{"mix-shift", 1, calm},
		{"mix-shift", 23, calm},
		{"load-step", 23, calm},
		{"slow-rare", 23, calm},
		{"pauses", 1, calm},
		{"queue2", 1, []bound{{"goodput", 0.97, 1}, {"success_high", 0.98, 1}, {"success_important", 0.98, 1}}},
		{"queue10", 1, []bound{{"goodput", 0.98, 1}, {"success_high", 0.95, 1}}},
		{"queue10", 100, []bound{{"goodput", 0.93, 1}, {"success_high", 0.93, 1}, {"fairness", 0.95, 1}}},
		{"slots", 1, []bound{{"goodput", 0.95, 1}, {"success_high", 0.99, 1}, {"success_important", 0.98, 1}}},
		{"slots-cold", 1, []bound{{"goodput", 0.92, 1}, {"success_high", 0.99, 1}}},
		{"slow-ramp-10", 1, []bound{{"goodput", 0.95, 1}, {"success_high", 0.97, 1}}},
		{"lock", 1, []bound{{"goodput", 0.98, 1}, {"success_high", 0.98, 1}}},
		{"queue2", 23, []bound{{"goodput", 0.95, 1}, {"success_high", 0.98, 1}, {"fairness", 0.95, 1}}},
		{"pool5-100", 23, []bound{{"goodput", 0.97, 1}, {"success_high", 0.97, 1}, {"fairness", 0.9, 1}}},
	} {
		t.Run(fmt.Sprintf("%s, %d clients", tt.scenario, tt.clients), func(t *testing.T) {
			t.Parallel()
			o := Options{Clients: tt.clients, Settings: Settings{SlowAuto: true}}
			f := play(t, scenario(t, tt.scenario), policy(t, "tiered"), 1, o).Figures
			within(t, f, tt.bounds...)
		})
	}
}
