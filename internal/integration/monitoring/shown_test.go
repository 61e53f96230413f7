package monitoring

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// shownFile is where TestShown writes what it has seen.
var shownFile = flag.String("shown", "", "file for what Grafana would show in each phase of an incident")

// A phase is a part of an incident, and what Overview must show in it: titles, texts and colors.
type phase struct {
	name, control string
	ready         func(*stack, *testing.T)
	want          [][3]string
}

// phases are those of the tour: calm, an overload, an outage at normal load, and the time after it.
func phases() []phase {
	const shop = "storefront shop-backend"
	high := alert("ThrottleHighPriorityShedding", "severity", "critical")
	return []phase{
		{"calm", `{"load": 0.8}`, (*stack).targetsAndRules, [][3]string{
			{"Alerts firing", "0 none", "green"}, {"High failed", "0.00% " + shop, "green"}, {"Top fault", "0.0% none", "green"},
		}},
		{"overload", `{"load": 4}`, func(s *stack, t *testing.T) {
			s.awaitFiring(t, alert("ThrottleErrorBudgetBurn", "severity", "critical", "window", "1h"))
		}, [][3]string{{"Alerts firing", "Throttle", "red"}, {"High failed", shop, "red"}, {"Shed", shop, "red"}}},
		{"outage", `{"load": 0.8, "backend": "down"}`, func(s *stack, t *testing.T) { s.awaitFiring(t, high) }, [][3]string{
			{"High failed", "100.00% " + shop, "red"}, {"Top fault", "availability", "red"},
		}},
		{"after", `{"load": 0.8, "backend": "up"}`, func(s *stack, t *testing.T) { s.awaitResolved(t, high) }, [][3]string{
			{"High failed", "0.00% " + shop, "green"}, {"Top fault", "0.0% none", "green"},
		}},
	}
}

// TestShown plays an incident and evaluates what Grafana would show: the stats, the tables and the legends of all boards. No empty
// cell may have a text, no missing number a color, and every series of a legend must have a row. With -shown it writes a list.
func TestShown(t *testing.T) {
	t.Parallel()
	s := newStack(t, usual)
	var report strings.Builder
	for _, p := range phases() {
		s.control(t, p.control)
		p.ready(s, t)
		time.Sleep(5 * time.Second) // five minutes of the incident
		var texts []string
		program.Eventually(t, p.name, func() string {
			var wrong string
			texts, wrong = s.lookAtAll(t, p)
			return wrong
		})
		fmt.Fprintf(&report, "# %s\n%s\n", p.name, strings.Join(texts, "\n"))
	}
	if *shownFile != "" {
		write(t, []byte(report.String()), *shownFile)
	}
}

// lookAtAll returns what the open panels of all boards show, and what is wrong with it.
func (s *stack) lookAtAll(t *testing.T, p phase) (texts []string, wrong string) {
	t.Helper()
	boards := readDashboards(t)
	for _, name := range []string{"overview", "availability", "breakers", "limits", "backoffs"} {
		b := boards[name+".json"]
		i := inGrafana(byDefault(b))
		if _, ok := i.chosen["throttle"]; ok { // the storefront is the example of throttles
			i.chosen["job"] = choice{values: []string{"storefront"}, several: true}
		}
		texts = append(texts, "\n## "+b.Title+"\n")
		for _, panel := range b.Panels {
			if panel.Type == "row" {
				continue
			}
			if err := panel.look(t, s, i); err != nil {
				return nil, err.Error()
			}
			for _, want := range p.want {
				if name != "overview" || panel.Title != want[0] {
					continue
				}
				if got := joined(panel.shown, "; "); !strings.Contains(got, want[1]) || !strings.HasSuffix(got, "["+want[2]+"]") {
					wrong += fmt.Sprintf("%s: got %s want %s\n", panel.Title, got, want)
				}
			}
			texts, wrong = append(texts, panel.String()), wrong+panel.wrong()
		}
	}
	return texts, wrong
}

// TestShownField plants what the tool must show as different.
func TestShownField(t *testing.T) {
	const unmapped = `{"unit": "percentunit", "decimals": 1, "noValue": "no traffic", "thresholds": {"steps": [
		{"color": "green", "value": null}, {"color": "red", "value": 0.5}]}`
	const mapped = unmapped + `, "mappings": [{"type": "range", "options": {"from": 2, "to": null, "result": {"text": "never", "color": "red"}}},
		{"type": "special", "options": {"match": "null+nan", "result": {"text": "no traffic", "color": "text"}}}]}`
	for text, want := range map[string]string{unmapped + "}": "40.0% [green] 50.0% [red] 300.0% [red] no traffic [green]", mapped: "40.0% [green] 50.0% [red] never [red] no traffic"} {
		var f shownField
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if got := joined([]shownValue{f.show(0.4), f.show(0.5), f.show(3), f.show(math.NaN())}, " "); got != want {
			t.Errorf("got %s want %s", got, want)
		}
	}
}
