//go:build !race

package overload

import (
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestReportsKnownFigures compares clients that receive load reports with those that do not.
func TestReportsKnownFigures(t *testing.T) {
	for _, c := range []struct {
		scenario string
		good     func(listening, tiered Figures) bool
	}{
		{"reports5", func(l, _ Figures) bool {
			return l.Goodput > 0.96 && l.Success[throttle.High] > 0.98 && l.TimeToRecover <= 4
		}},
		{"reports-join20", func(l, o Figures) bool { return l.FalseShed < 0.005 && o.FalseShed > 0.01 }},
		{"always-calm", func(l, o Figures) bool {
			return l.Success[throttle.High] > o.Success[throttle.High]-0.02 && l.Goodput > o.Goodput-0.02
		}},
		{"always-full", func(l, _ Figures) bool { return l.FalseShed < 0.02 }},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			figures := func(name string) Figures {
				return play(t, scenario(t, c.scenario), policy(t, name), 5, Options{Clients: 23, RejectionCost: 0.25}).Figures
			}
			if l, o := figures("listening"), figures("tiered"); !c.good(l, o) {
				t.Errorf("listening: %+v\nnot: %+v", l, o)
			}
		})
	}
}
