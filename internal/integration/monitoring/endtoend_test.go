package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestEndToEnd tells one story to the real programs, and looks at it with everything that we ship. Its parts depend on each other, so it
// ends with the first that fails, except for those that only look.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, part := range []struct {
		name  string
		tells func(*stack, *testing.T)
	}{
		{"all targets are scraped and all rules are sound", (*stack).isSound},
		{"an overload is noticed", (*stack).overload},
		{"every panel has something to show", (*stack).shows},
		{"every panel copes with hostile names", (*stack).showsHostile},
		{"exemplars lead to traces", (*stack).leadsToTraces},
		{"every rule has something to work on", (*stack).works},
		{"calls of High that are shed are noticed", (*stack).brownout},
		{"other mistakes are noticed", (*stack).mistakes},
		{"the calm after it is noticed too", (*stack).calm},
		{"an outage mutes the rest", (*stack).outage},
		{"the end of the outage is noticed", (*stack).recovery},
		{"an instance that has gone is noticed", (*stack).loss},
		{"somebody was told of it all", (*stack).tells},
	} {
		only := strings.HasPrefix(part.name, "every") || strings.HasPrefix(part.name, "exemplars")
		if !t.Run(part.name, func(t *testing.T) { part.tells(s, t) }) && !only {
			t.FailNow()
		}
	}
}

// aboutStorefront are the labels of what is about the throttle of the storefront.
func aboutStorefront() map[string]string {
	return map[string]string{"job": "storefront", "throttle_name": "shop-backend"}
}

// alert describes an alert about that throttle by its name, and pairs of further labels and values.
func alert(name string, pairs ...string) map[string]string {
	return described(name, append([]string{"job", "storefront", "throttle_name", "shop-backend"}, pairs...))
}

// alertOfFixture describes one about the second service.
func alertOfFixture(name string, pairs ...string) map[string]string {
	return described(name, append([]string{"job", hostileJob}, pairs...))
}

func described(name string, pairs []string) map[string]string {
	labels := map[string]string{"alertname": name}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

// found returns the alert with these labels that is firing in Prometheus.
func (s *stack) found(labels map[string]string) (of alarm, ok bool, err error) {
	all, err := s.prometheus.alerts()
	for _, a := range all {
		if a.State == "firing" && contains(a.Labels, labels) {
			return a, true, err
		}
	}
	return alarm{}, false, err
}

// fires waits until all these alerts are firing. What their texts say must be complete.
func (s *stack) fires(t *testing.T, wanted ...map[string]string) {
	t.Helper()
	var hopes []hope
	for _, labels := range wanted {
		hopes = append(hopes, hope{fmt.Sprint(labels), func() string {
			a, ok, err := s.found(labels)
			if err != nil || !ok {
				return fmt.Sprintf("does not fire, error %v", err)
			}
			for name, text := range a.Annotations {
				if strings.Contains(text, "<no value>") || strings.Contains(text, "error expanding") || strings.Contains(text, "NaN") {
					t.Errorf("%v: annotation %s: got %q", labels, name, text)
				}
			}
			return ""
		}})
	}
	fulfilled(t, "alerts fire", hopes...)
}

// resolves waits until none of these alerts is firing any more.
func (s *stack) resolves(t *testing.T, wanted ...map[string]string) {
	t.Helper()
	var hopes []hope
	for _, labels := range wanted {
		hopes = append(hopes, hope{fmt.Sprint(labels), func() string {
			if _, ok, err := s.found(labels); err != nil || ok {
				return fmt.Sprintf("still fires, error %v", err)
			}
			return ""
		}})
	}
	fulfilled(t, "alerts resolve", hopes...)
}

func (s *stack) isSound(t *testing.T) {
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

// overload is more than the backend can take. Little of High is lost then: that is what the throttle is for.
func (s *stack) overload(t *testing.T) {
	s.control(t, `{"load": 4}`)
	severe, sustained := alert("ThrottleSheddingSevere", "severity", "critical"), alert("ThrottleSheddingSustained", "severity", "warning")
	s.fires(t,
		severe,
		alert("ThrottleAvailabilityFaults", "severity", "warning", "error_type", "availability"),
		alert("ThrottleErrorBudgetBurn", "severity", "critical", "window", "1h"),
		alert("ThrottleErrorBudgetBurn", "severity", "critical", "window", "6h"),
		sustained,
	)
	program.Eventually(t, "High is spared while the others are shed", func() string { // but for the moments in which this machine stands still
		high, sheds, err := s.found(alert("ThrottleHighPriorityShedding"))
		_, others, missed := s.found(severe)
		if sheds || !others || err != nil || missed != nil {
			return fmt.Sprintf("%v fires: %v, that the others are shed: %v, errors %v, %v", high, sheds, others, err, missed)
		}
		return ""
	})
	s.mutes(t, severe, sustained)
}

// brownout leaves the backend a quarter of what High alone asks for.
func (s *stack) brownout(t *testing.T) {
	s.control(t, `{"backend": "brownout", "capacity": 100, "load": 10}`)
	s.fires(t, alert("ThrottleHighPriorityShedding", "severity", "critical"))
}

// mistakes are what the second service does wrong all the time.
func (s *stack) mistakes(t *testing.T) {
	open := alertOfFixture("ThrottleBucketStoreFailingOpen", "throttle_bucket_name", hostileName, "severity", "critical")
	openALittle := alertOfFixture("ThrottleBucketStoreFailingOpen", "throttle_bucket_name", hostileName, "severity", "warning")
	denied := alertOfFixture("ThrottleBucketDenialRatio", "throttle_bucket_name", hostileName)
	s.fires(t,
		alertOfFixture("ThrottleFallbackFailing", "throttle_name", hostileName),
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
	s.mutes(t, open, openALittle)
	s.mutes(t, open, denied)
}

func (s *stack) calm(t *testing.T) {
	s.control(t, `{"load": 0.8, "capacity": 400, "backend": "up"}`)
	s.resolves(t,
		alert("ThrottleHighPriorityShedding"),
		alert("ThrottleSheddingSevere"),
		alert("ThrottleSheddingSustained"),
		alert("ThrottleAvailabilityFaults"),
		alert("ThrottleErrorBudgetBurn", "window", "1h"),
	)
}

// outage takes the backend away, under a load at which the throttle has no doubt: with less it keeps probing with a good part of High.
func (s *stack) outage(t *testing.T) {
	s.control(t, `{"load": 4, "backend": "down"}`)
	down := alert("ThrottleBackendDown", "severity", "critical")
	shedding, severe := alert("ThrottleHighPriorityShedding"), alert("ThrottleSheddingSevere")
	s.fires(t, down, shedding, severe)
	s.mutes(t, down, shedding)
	s.mutes(t, down, severe)
	program.Eventually(t, "nothing else about the throttle is told", func() string {
		all := s.notified(t)
		var loud []string
		for _, a := range all {
			if contains(a.Labels, alert("ThrottleBackendDown")) || !contains(a.Labels, aboutStorefront()) || a.Status.State == "suppressed" {
				continue
			}
			loud = append(loud, fmt.Sprintf("%v is %s", a.Labels, a.Status.State))
		}
		return strings.Join(loud, "; ")
	})
	for _, a := range s.notified(t) {
		if a.Labels["throttle_name"] == "" && a.Labels["throttle_bucket_name"] == "" && len(a.Status.InhibitedBy) > 0 {
			t.Errorf("%v: got muted by %v want that to happen to alerts about throttles and buckets only", a.Labels, a.Status.InhibitedBy)
		}
	}
}

// mutes waits until Alertmanager has one alert keep the other quiet.
func (s *stack) mutes(t *testing.T, one, other map[string]string) {
	t.Helper()
	program.Eventually(t, fmt.Sprintf("%v mutes %v", one, other), func() string {
		all := s.notified(t)
		by, quiet := notice(all, one), notice(all, other)
		if by.Fingerprint == "" || !slices.Contains(quiet.Status.InhibitedBy, by.Fingerprint) {
			return fmt.Sprintf("Alertmanager has %+v and %+v", by, quiet)
		}
		return ""
	})
}

// notice returns the alert with these labels, as Alertmanager has it.
func notice(all []alarm, labels map[string]string) alarm {
	for _, a := range all {
		if contains(a.Labels, labels) {
			return a
		}
	}
	return alarm{}
}

func (s *stack) recovery(t *testing.T) {
	s.control(t, `{"load": 0.8, "backend": "up"}`)
	s.resolves(t, alert("ThrottleBackendDown"), alert("ThrottleSheddingSevere"))
}

func (s *stack) loss(t *testing.T) {
	s.instances[1].server.CloseClientConnections()
	s.instances[1].server.Close()
	s.fires(t, alertOfFixture("ThrottleTargetDown", "instance", otherInstance))
}

// tells waits until somebody was told of all of it, by the real Alertmanager to the real storefront.
func (s *stack) tells(t *testing.T) {
	hopes := []hope{s.tellsOf("firing", alertOfFixture("ThrottleTargetDown", "instance", otherInstance))}
	for _, name := range []string{"ThrottleHighPriorityShedding", "ThrottleSheddingSevere", "ThrottleBackendDown"} {
		hopes = append(hopes, s.tellsOf("firing", alert(name)), s.tellsOf("resolved", alert(name)))
	}
	fulfilled(t, "somebody is told", hopes...)
	for _, problem := range s.told.complaints() {
		t.Error(problem)
	}
}

func (s *stack) tellsOf(status string, labels map[string]string) hope {
	return hope{fmt.Sprintf("%v is %s", labels, status), func() string {
		if !s.told.has(status, labels) {
			return "nobody is told"
		}
		return ""
	}}
}
