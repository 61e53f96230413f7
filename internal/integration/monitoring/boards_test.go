package monitoring

import (
	"math"
	"slices"
	"testing"
)

// TestBoards asks each query of each board with the data of two clusters. Each must have an answer, and one that depends on the
// cluster: what two clusters have together hides which of them fails.
func TestBoards(t *testing.T) {
	t.Parallel()
	s := &stack{by: 1, scrape: dataStep, prometheus: prometheusOf(t, twoClusters(t))}
	t.Run("clusters", s.clusters)
	t.Run("hostile names", s.panelsHostile)
	t.Run("one dead half", s.deadHalf)
}

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
				sums[cluster] += one.Value.number()
			}
		}
		if _, alike := alikePanels()[q.where]; !alike && same(sums["eu"], sums[""]) && same(sums["us"], sums[""]) {
			t.Errorf("%s: got %v in one cluster and in both: the panel hides which it is: %s", q.where, sums[""], q.text)
		}
	}
}

// alikePanels show the same in both clusters, with the reason.
func alikePanels() map[string]string {
	return map[string]string{
		"availability.json, stat Budget left":                     "the budget of each is spent",
		"availability.json, timeseries High failed and objective": "all have one objective",
		"breakers.json, stat Snapshot age":                        "each cluster has a process that has never read the store",
	}
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// harmless returns the numbers that may be green while one part is dead: they are not about users or backends, or one
// process of a cluster is enough.
func harmless(job string) []string {
	if job == apartJob {
		return []string{"Utilization"}
	}
	return []string{"Utilization", "Leaders"}
}

// deadHalf expects no green number on any board while one of two instances, or of two clusters, is in an outage.
func (s *stack) deadHalf(t *testing.T) {
	for name, of := range readDashboards(t) {
		for _, job := range []string{halfJob, apartJob} {
			i := inGrafana(byDefault(of))
			i.chosen["job"] = choice{values: []string{job}, several: true}
			seen := 0
			for _, p := range of.Panels {
				if p.Type != "stat" || len(p.FieldConfig.Defaults.Thresholds.Steps) < 2 || slices.Contains(harmless(job), p.Title) {
					continue
				}
				if err := p.look(t, s, i); err != nil {
					t.Fatal(err)
				}
				seen++
				for _, v := range p.shown {
					if v.color != "red" && v.color != "orange" {
						t.Errorf("%s, %s, %s: got %v want it red or orange", name, job, p.Title, v)
					}
				}
			}
			if seen < 2 {
				t.Errorf("%s: got %d numbers want two at least", name, seen)
			}
		}
	}
}
