package monitoring

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestBoards asks each query of each board with the data of two clusters. Each must have an answer, and one that depends on the
// cluster: what two clusters have together hides which of them fails.
func TestBoards(t *testing.T) {
	t.Parallel()
	s := &stack{by: 1, scrape: dataStep, prometheus: prometheusOf(t, twoClusters(t))}
	t.Run("clusters", s.clusters)
	t.Run("hostile names", s.panelsHostile)
	t.Run("alerts", s.alertTiles)
}

// clusters asks about both clusters, and about each.
func (s *stack) clusters(t *testing.T) {
	questions, of := asked(t)
	for _, q := range questions {
		if q.kind != ofPanel {
			continue
		}
		sums := map[string]float64{}
		for _, cluster := range []string{"", "eu", "us"} {
			i := inGrafana(byDefault(q.board(of)))
			i.scrape = dataStep
			i.chosen["job"] = choice{values: []string{"shop", "mail", "search"}, several: true}
			if cluster != "" {
				i.chosen["cluster"] = choice{values: []string{cluster}, several: true}
			}
			expr, _ := s.ready(t, q, i)
			answer, err := s.prometheus.instant(expr)
			if err != nil || len(answer) == 0 {
				t.Errorf("%s: %s: got error %v and %d series want some", q.where, expr, err, len(answer))
			}
			for _, one := range answer {
				sums[cluster] += float64(one.Value)
			}
		}
		if same(sums["eu"], sums[""]) && same(sums["us"], sums[""]) {
			t.Errorf("%s: got %v in one cluster and in both: the panel hides which it is: %s", q.where, sums[""], q.text)
		}
	}
}

// alertTiles expects the number of alerts with the worst one, and no number without the rules: it would be green. Of an alert about
// faults and one that is more severe, the table has the first on top.
func (s *stack) alertTiles(t *testing.T) {
	of := readDashboards(t)["overview.json"]
	in := func(job string) interpolation {
		i := inGrafana(byDefault(of))
		i.chosen["job"] = choice{values: []string{job}, several: true}
		return i
	}
	tile := of.panel("Alerts firing")
	for job, want := range map[string]string{
		warnedJob: "2.000 ThrottleErrorBudgetBurn, critical red", ticketJob: "1.000 ThrottleCallsLate, warning red", "quiet": "0.000 none green",
	} {
		if got := strings.Join(tile.look(t, s, in(job)), "; "); got != want {
			t.Errorf("%s: got %s want %s", job, got, want)
		}
	}
	tile.Targets[0].Expr = strings.ReplaceAll(tile.Targets[0].Expr, "throttle:breaker_max_stale:seconds", "none")
	if got := tile.look(t, s, in("quiet")); len(got) > 0 {
		t.Errorf("without rules: got %s", got)
	}
	expr, _ := s.ready(t, question{text: of.panel("Alerts").Targets[0].Expr}, in(warnedJob))
	rows, err := s.prometheus.instant(expr)
	rank := map[model.LabelValue]model.LabelValue{}
	for _, row := range rows {
		rank[row.Metric["alertname"]] = row.Metric["severity"]
	}
	if err != nil || len(rank) != 2 || rank["ThrottleAvailabilityFaults"] >= rank["ThrottleErrorBudgetBurn"] {
		t.Errorf("the table: got ranks %v and error %v want that about faults first", rank, err)
	}
}

// same reports whether two sums are equal. One that is no number says nothing, and so is equal to all.
func same(a, b float64) bool {
	return math.IsNaN(a) || math.IsNaN(b) || math.Abs(a-b) <= 1e-9*math.Abs(b)
}

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
