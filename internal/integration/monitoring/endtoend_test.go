package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestEndToEnd drives the real programs through overload, brownout and outage, and checks dashboards,
// rules and alerts on the way. A part depends on those before it. So the test ends with the first part
// that fails, except for parts that only read.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	s := newStack(t, usual)
	for _, part := range []struct {
		name string
		run  func(*stack, *testing.T)
	}{
		{"all targets are scraped and all rules can be evaluated", (*stack).targetsAndRules},
		{"an overload fires its alerts", (*stack).overload},
		{"every histogram of an instance is native", (*stack).nativeHistograms},
		{"every panel about the process has the storefront", (*stack).runtimeMetrics},
		{"exemplars lead to traces", (*stack).exemplarsToTraces},
		{"every rule has data", (*stack).rulesHaveData},
		{"every panel works with hostile names and native histograms", (*stack).panelsHostile},
		{"other mistakes fire their alerts", (*stack).mistakes},
		{"alerts resolve after the overload", (*stack).calm},
		{"an outage inhibits other alerts", (*stack).outage},
		{"alerts resolve after the outage", (*stack).recovery},
		{"a missing instance fires its alert", (*stack).loss},
	} {
		only := strings.HasPrefix(part.name, "every") || strings.HasPrefix(part.name, "exemplars")
		if !t.Run(part.name, func(t *testing.T) { part.run(s, t) }) && !only {
			t.FailNow()
		}
	}
}

// alert returns the labels of an alert about that throttle: its name, and pairs of labels and values.
func alert(name string, pairs ...string) map[string]string {
	return described(name, append([]string{"job", "storefront", "throttle_name", "shop-backend"}, pairs...))
}

// alertOfFixture returns the labels of an alert about the second service.
func alertOfFixture(name string, pairs ...string) map[string]string {
	return described(name, append([]string{"job", hostileJob, "cluster", fixtureCluster}, pairs...))
}

func described(name string, pairs []string) map[string]string {
	labels := map[string]string{"alertname": name}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

// found returns the firing alert with these labels from Prometheus.
func (s *stack) found(labels map[string]string) (of alarm, ok bool, err error) {
	all, err := s.prometheus.alerts()
	for _, a := range all {
		if a.State == "firing" && contains(a.Labels, labels) {
			return a, true, err
		}
	}
	return alarm{}, false, err
}

// await waits until all these alerts fire, or until none does. The annotations of those that fire must be complete.
func (s *stack) await(t *testing.T, fire bool, wanted ...map[string]string) {
	t.Helper()
	var conditions []condition
	for _, labels := range wanted {
		conditions = append(conditions, condition{fmt.Sprint(labels), func() string {
			a, fires, err := s.found(labels)
			if err != nil || fires != fire {
				return fmt.Sprintf("fires: %v, error %v", fires, err)
			}
			for name, text := range a.Annotations {
				if strings.Contains(text, "<no value>") || strings.Contains(text, "error expanding") || strings.Contains(text, "NaN") {
					t.Errorf("%v: annotation %s: got %q", labels, name, text)
				}
			}
			return ""
		}})
	}
	awaitAll(t, "alerts fire or resolve", conditions...)
}

const firing, resolved = true, false

func (s *stack) targetsAndRules(t *testing.T) {
	program.Eventually(t, "the storefront, Prometheus itself and three instances are up", func() string {
		up, down, err := s.prometheus.targets()
		if err != nil || up != 5 || len(down) > 0 {
			return fmt.Sprintf("%d are, but %v, error %v", up, down, err)
		}
		return ""
	})
	program.Eventually(t, "every rule can be evaluated", func() string {
		sick, err := s.prometheus.sick()
		if err != nil || len(sick) > 0 {
			return fmt.Sprintf("%v, error %v", sick, err)
		}
		return ""
	})
}

// overload sends more than the backend can serve. The throttle sheds little of High.
func (s *stack) overload(t *testing.T) {
	s.control(t, `{"load": 4}`)
	severe, sustained := alert("ThrottleSheddingSevere", "severity", "critical"), alert("ThrottleSheddingSustained", "severity", "warning")
	s.await(t, firing,
		severe,
		alert("ThrottleAvailabilityFaults", "severity", "warning", "error_type", "availability"),
		alert("ThrottleErrorBudgetBurn", "severity", "critical", "window", "1h"),
		alert("ThrottleErrorBudgetBurn", "severity", "critical", "window", "6h"),
		sustained,
	)
	program.Eventually(t, "High is spared while the others are shed", func() string { // except while the machine pauses
		high, sheds, err := s.found(alert("ThrottleHighPriorityShedding"))
		_, others, missed := s.found(severe)
		if sheds || !others || err != nil || missed != nil {
			return fmt.Sprintf("%v fires: %v, that the others are shed: %v, errors %v, %v", high, sheds, others, err, missed)
		}
		return ""
	})
	s.awaitInhibited(t, severe, sustained)
	s.awaitPrinted(t, "firing: ThrottleSheddingSevere (critical) shop-backend")
	s.shows(t, "Alerts firing", `Throttle\w+, critical red`, "High failed", `shop-backend red`, "Shed", `shop-backend red`)
}

// mistakes waits for the alerts about the second service, which always misbehaves.
func (s *stack) mistakes(t *testing.T) {
	open := alertOfFixture("ThrottleBucketStoreFailingOpen", "throttle_bucket_name", hostileName, "severity", "critical")
	openALittle := alertOfFixture("ThrottleBucketStoreFailingOpen", "throttle_bucket_name", hostileName, "severity", "warning")
	denied := alertOfFixture("ThrottleBucketDenialRatio", "throttle_bucket_name", hostileName)
	s.await(t, firing,
		alertOfFixture("ThrottleFallbackFailing", "throttle_name", hostileName),
		alertOfFixture("ThrottleCallsHanging", "throttle_name", stuckName),
		alertOfFixture("ThrottleAvailabilityFaults", "throttle_name", hostileName, "error_type", "availability"),
		alertOfFixture("ThrottleMetricsAbsent", "instance", bareInstance),
		alertOfFixture("ThrottleClampedPriorities", "throttle_name", dottedName, "severity", "info"),
		alertOfFixture("ThrottleBreakerDisabled", "throttle_breaker_name", hostileName),
		alertOfFixture("ThrottleBreakerSheddingSevere", "throttle_breaker_name", hostileName, "severity", "critical"),
		alertOfFixture("ThrottleBreakerFailing", "throttle_breaker_name", hostileName, "throttle_breaker_failure", "poll"),
		alertOfFixture("ThrottleBreakerNoLeader", "throttle_breaker_name", idleName),
		alertOfFixture("ThrottleBreakerStale", "throttle_breaker_name", idleName),
		open, openALittle, denied,
		alertOfFixture("ThrottleBucketStoreFailingClosed", "throttle_bucket_name", closedName, "severity", "critical"),
		alertOfFixture("ThrottleBucketStoreFailingClosed", "throttle_bucket_name", closedName, "severity", "warning"),
		alertOfFixture("ThrottleBucketDenialRatio", "throttle_bucket_name", dottedName, "severity", "info"),
		alertOfFixture("ThrottleBackoffStuck", "throttle_backoff_name", hostileName, "severity", "warning"),
	)
	s.awaitInhibited(t, open, openALittle)
	s.awaitInhibited(t, open, denied)
}

func (s *stack) calm(t *testing.T) {
	s.control(t, `{"load": 0.8, "capacity": 400, "backend": "up"}`)
	s.await(t, resolved,
		alert("ThrottleHighPriorityShedding"),
		alert("ThrottleSheddingSevere"),
		alert("ThrottleSheddingSustained"),
		alert("ThrottleAvailabilityFaults"),
		alert("ThrottleErrorBudgetBurn", "window", "1h"),
	)
	s.awaitPrinted(t, "resolved: ThrottleSheddingSevere (critical) shop-backend")
	s.showsCalm(t)
}

// showsCalm waits until Overview shows that all is well.
func (s *stack) showsCalm(t *testing.T) {
	t.Helper()
	s.shows(t, "Alerts firing", `0\.000 none green`, "High failed", `0\.000 storefront shop-backend green`, "Top fault", `0\.000 none green`)
}

// outage stops the backend under a high load. With a lower load the throttle would keep probing with a
// large part of High.
func (s *stack) outage(t *testing.T) {
	s.control(t, `{"load": 4, "backend": "down"}`)
	down := alert("ThrottleBackendDown", "severity", "critical")
	shedding, severe := alert("ThrottleHighPriorityShedding"), alert("ThrottleSheddingSevere")
	s.await(t, firing, down, shedding, severe)
	s.awaitPrinted(t, "firing: ThrottleBackendDown (critical) shop-backend")
	s.awaitInhibited(t, down, shedding)
	s.awaitInhibited(t, down, severe)
	program.Eventually(t, "all other alerts about the throttle are inhibited", func() (loud string) {
		for _, a := range s.alertmanagerAlerts(t) {
			if contains(a.Labels, alert(a.Labels["alertname"])) && a.Labels["alertname"] != "ThrottleBackendDown" && a.Status.State != "suppressed" {
				loud += fmt.Sprintf("%v is %s; ", a.Labels, a.Status.State)
			}
		}
		return loud
	})
	for _, a := range s.alertmanagerAlerts(t) {
		if a.Labels["throttle_name"] == "" && a.Labels["throttle_bucket_name"] == "" && len(a.Status.InhibitedBy) > 0 {
			t.Errorf("%v: got inhibited by %v, want that only for alerts about throttles and buckets", a.Labels, a.Status.InhibitedBy)
		}
	}
	s.shows(t, "Alerts firing", `ThrottleBackendDown, critical red`, "High failed", `^\[1\.000 storefront shop-backend red`, "Top fault", `availability red`)
}

// awaitInhibited waits until Alertmanager inhibits the second alert because of the first.
func (s *stack) awaitInhibited(t *testing.T, one, other map[string]string) {
	t.Helper()
	program.Eventually(t, fmt.Sprintf("%v inhibits %v", one, other), func() string {
		all := s.alertmanagerAlerts(t)
		by, quiet := alertWith(all, one), alertWith(all, other)
		if by.Fingerprint == "" || !slices.Contains(quiet.Status.InhibitedBy, by.Fingerprint) {
			return fmt.Sprintf("Alertmanager has %+v and %+v", by, quiet)
		}
		return ""
	})
}

func alertWith(all []alarm, labels map[string]string) alarm {
	for _, a := range all {
		if contains(a.Labels, labels) {
			return a
		}
	}
	return alarm{}
}

func (s *stack) recovery(t *testing.T) {
	s.control(t, `{"load": 0.8, "backend": "up"}`)
	s.await(t, resolved, alert("ThrottleBackendDown"), alert("ThrottleSheddingSevere"))
	s.awaitPrinted(t, "resolved: ThrottleBackendDown (critical) shop-backend")
	s.showsCalm(t)
}

func (s *stack) loss(t *testing.T) {
	s.instances[1].server.CloseClientConnections()
	s.instances[1].server.Close()
	s.await(t, firing, alertOfFixture("ThrottleTargetDown", "instance", otherInstance, "cluster", classicCluster))
	s.awaitPrinted(t, "firing: ThrottleTargetDown")
}

// awaitPrinted waits until the storefront has printed a notification, which Alertmanager has delivered.
func (s *stack) awaitPrinted(t *testing.T, notification string) {
	t.Helper()
	program.Eventually(t, "the storefront prints "+notification, func() string {
		if !strings.Contains(s.shop.Output(), "-- alert "+notification) {
			return s.shop.Output()
		}
		return ""
	})
}
