package monitoring

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestEndToEnd_NativeHistograms executes every query of the dashboards, and the rules, for a service whose exporter sends native
// histograms. TestEndToEnd does so for classic ones.
func TestEndToEnd_NativeHistograms(t *testing.T) {
	t.Parallel()
	s := newStack(t, 5, nativeHistograms()) // slower than usual: protobuf takes long under the race detector
	for _, part := range []struct {
		name string
		run  func(*stack, *testing.T)
	}{
		{"all targets are scraped and all rules can be evaluated", (*stack).targetsAndRules},
		{"the histograms are native", (*stack).isNative},
		{"every panel works with hostile names", (*stack).panelsHostile},
		{"the rule about durations has data", (*stack).ruleOfDurations},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(s, t) })
	}
}

// isNative waits for native histograms of each kind, and expects no series of buckets of the second service.
func (s *stack) isNative(t *testing.T) {
	for _, name := range []string{"throttle_call_duration_seconds", "throttle_bucket_store_duration_seconds", "throttle_backoff_sleep_duration_seconds"} {
		program.Eventually(t, name, func() string {
			return missing(s.prometheus.instant(fmt.Sprintf("histogram_count(%s{job=%q}) > 0", name, hostileJob)))
		})
	}
	if classic, err := s.prometheus.instant(fmt.Sprintf(`{__name__=~"throttle_.+_(bucket|count)", job=%q}`, hostileJob)); err != nil || len(classic) > 0 {
		t.Errorf("got error %v and %d series of classic histograms, want none", err, len(classic))
	}
}

// ruleOfDurations waits for the p99 of the second service.
func (s *stack) ruleOfDurations(t *testing.T) {
	program.Eventually(t, "the p99 is recorded", func() string {
		return missing(s.prometheus.instant(fmt.Sprintf("throttle:call_duration:p99_5m{job=%q} > 0", hostileJob)))
	})
}
