package monitoring

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// look returns the numbers of a panel: each with its name, and with the color of the last threshold that it reaches.
func (p *panel) look(t *testing.T, s *stack, i interpolation) (shown []string) {
	t.Helper()
	for _, target := range p.Targets {
		expr, _ := s.ready(t, question{where: p.Title, text: target.Expr}, i)
		answer, err := s.prometheus.instant(expr)
		if err != nil {
			t.Fatalf("%s: %v", p.Title, err)
		}
		for _, one := range answer {
			color := ""
			for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
				if step.Value == nil || float64(one.Value) >= *step.Value {
					color = step.Color
				}
			}
			name := regexp.MustCompile(`\{\{\w+\}\}`).ReplaceAllStringFunc(target.LegendFormat, func(found string) string {
				return string(one.Metric[model.LabelName(strings.Trim(found, "{}"))])
			})
			shown = append(shown, fmt.Sprintf("%.3f %s %s", float64(one.Value), name, color))
		}
	}
	return shown
}

// shows waits until Overview shows the numbers of the storefront: pairs of a title, and a pattern of number, name and color.
func (s *stack) shows(t *testing.T, want ...string) {
	t.Helper()
	overview := readDashboards(t)["overview.json"]
	i := inGrafana(byDefault(overview))
	i.chosen["job"] = choice{values: []string{"storefront"}, several: true}
	program.Eventually(t, "Overview shows it", func() (wrong string) {
		for n := 0; n < len(want); n += 2 {
			got := fmt.Sprint(overview.panel(want[n]).look(t, s, i))
			if !regexp.MustCompile(want[n+1]).MatchString(got) {
				wrong += fmt.Sprintf("%s: got %s want %s\n", want[n], got, want[n+1])
			}
		}
		return wrong
	})
}

// panel returns an open panel.
func (d dashboard) panel(title string) *panel {
	for _, p := range d.Panels {
		if p.Title == title {
			return p
		}
	}
	return nil
}
