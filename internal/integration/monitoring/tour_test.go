package monitoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A tourPhase is a part of the tour: how long it takes in the files, what it changes, and which alerts must fire in it.
type tourPhase struct {
	name, change string
	length       time.Duration
	fires        []string
}

// tourPhases are the tour of the storefront, with a second outage under its usual load.
func tourPhases() []tourPhase {
	const calm = `{"load": 0.8, "backend": "up"}`
	return []tourPhase{
		{name: "calm", change: calm, length: 2 * time.Minute},
		{
			name: "overload", change: `{"load": 4}`, length: 5 * time.Minute,
			fires: []string{"ThrottleErrorBudgetBurn", "ThrottleSheddingSevere"},
		},
		{name: "calm after the overload", change: calm, length: 10 * time.Minute},
		{
			name: "outage", change: `{"backend": "down"}`, length: 4 * time.Minute,
			fires: []string{"ThrottleBackendDown", "ThrottleErrorBudgetBurn"},
		},
		{name: "calm after the outage", change: calm, length: 10 * time.Minute},
		{
			name: "crash", change: `{"load": 4, "backend": "down"}`, length: 4 * time.Minute,
			fires: []string{"ThrottleBackendDown", "ThrottleErrorBudgetBurn", "ThrottleSheddingSevere"},
		},
		{name: "calm after the crash", change: calm, length: 10 * time.Minute},
	}
}

// TestTour plays the tour ten times as fast, and prints when each alert of the storefront fired and ended, in the time of the files.
// It checks which alerts fire in which phase, and that all is green before the next. How fast they are is in the table and no
// verdict: the window of the throttle is not divided, and the machine may be busy. The rule files' own tests check the times.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for five minutes")
	}
	s := newTourStack(t)
	program.Eventually(t, "the storefront is scraped", func() string {
		return missing(s.prometheus.instant(`throttle:calls_offered:rate2m{job="storefront"} > 0`))
	})
	var table strings.Builder
	firing := set{}
	for _, phase := range tourPhases() {
		s.control(t, phase.change)
		fired := s.watch(t, phase, firing, &table)
		for _, name := range phase.fires {
			if !fired[name] {
				t.Errorf("%s: got no %s, want it to fire within %v", phase.name, name, phase.length)
			}
		}
		if len(phase.fires) == 0 && len(firing) > 0 {
			t.Errorf("%s: got %v at its end, want no alert", phase.name, slices.Sorted(maps.Keys(firing)))
		}
	}
	t.Logf("all times are since the beginning of the phase\n%s", table.String())
}

// newTourStack starts a storefront with Prometheus and Alertmanager, ten times as fast.
func newTourStack(t *testing.T) *stack {
	t.Helper()
	program.Find(t, "prometheus", "prometheus")
	program.Find(t, "prometheus-alertmanager", "prometheus-alertmanager", "alertmanager")
	s := &stack{by: 10, storefront: program.Example(t, "storefront", "-listen", "127.0.0.1:0", "-capacity", "200")}
	s.receiver = newReceiver(t, s.storefront)
	s.alertmanager = s.startAlertmanager(t)
	s.prometheus = server{s.startPrometheus(t)}
	return s
}

// watch waits for the end of a phase. It keeps firing up to date, and returns the names of the alerts that were firing at some time.
func (s *stack) watch(t *testing.T, phase tourPhase, firing set, table *strings.Builder) (fired set) {
	t.Helper()
	fired = set{}
	begun := time.Now()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for time.Since(begun) < s.by.faster(phase.length, 0) {
		<-again.C
		now := s.firingStorefront(t)
		since := (time.Since(begun) * time.Duration(s.by)).Round(time.Second)
		for _, id := range slices.Sorted(maps.Keys(now)) {
			fired[strings.Fields(id)[0]] = true
			if !firing[id] {
				fmt.Fprintf(table, "%-26s %8v  fires  %s\n", phase.name, since, id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(firing)) {
			if !now[id] {
				fmt.Fprintf(table, "%-26s %8v  ends   %s\n", phase.name, since, id)
			}
		}
		clear(firing)
		maps.Copy(firing, now)
	}
	return fired
}

// firingStorefront returns the firing alerts of the storefront: name, severity, and error type or window.
func (s *stack) firingStorefront(t *testing.T) set {
	t.Helper()
	all, err := s.prometheus.alerts()
	if err != nil {
		t.Fatal(err)
	}
	firing := set{}
	for _, a := range all {
		if a.State == "firing" && contains(a.Labels, aboutStorefront()) {
			firing[strings.TrimSpace(fmt.Sprint(a.Labels["alertname"], " ", a.Labels["severity"], " ", a.Labels["error_type"], a.Labels["window"]))] = true
		}
	}
	return firing
}
