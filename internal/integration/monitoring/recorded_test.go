package monitoring

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// recorded is what the recording rules promise to users, who build dashboards and alerts of their own on it: names and labels.
func recorded() map[string]string {
	const throttle, priority = "job throttle_name", "job throttle_name throttle_priority"
	const breaker, bucket = "job throttle_breaker_name", "job throttle_bucket_name"
	promised := map[string]string{
		"throttle:calls_offered:rate5m":          priority,
		"throttle:calls_shed:rate5m":             priority,
		"throttle:shed_ratio:rate5m":             priority,
		"throttle:calls_answered:rate5m":         throttle,
		"throttle:calls_rejected:rate5m":         "error_type " + throttle,
		"throttle:fault_ratio:rate5m":            "error_type " + throttle,
		"throttle:rejection_probability:highest": throttle,
		"throttle:rejection_probability:lowest":  throttle,
		"throttle:call_duration:p99_5m":          throttle,
		"throttle:fallback_failure_ratio:rate5m": throttle,
		"throttle:instances:count":               "job",
		"throttle:error_budget:ratio":            "",
		"throttle:latency_objective:seconds":     "",
		"throttle:breaker_calls_offered:rate5m":  breaker,
		"throttle:breaker_calls_shed:rate5m":     breaker,
		"throttle:breaker_shed_ratio:rate5m":     breaker,
		"throttle:breaker_max_stale:seconds":     "",

		"throttle:bucket_requests:rate5m":            bucket + " throttle_bucket_result",
		"throttle:bucket_failed_open_ratio:rate5m":   bucket,
		"throttle:bucket_failed_closed_ratio:rate5m": bucket,
		"throttle:bucket_denied_ratio:rate5m":        bucket,
		"throttle:bucket_denied_ratio:rate1h":        bucket,

		"throttle:backoff_throttled_ratio:rate10m": "job throttle_backoff_name",
	}
	for _, window := range []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d"} {
		promised["throttle:sli_error:ratio_rate"+window] = throttle
	}
	return promised
}

func TestRecordingRulesKeepTheirPromise(t *testing.T) {
	v, promised := speak(t), recorded()
	recording, _ := readRules(t)
	for _, r := range recording {
		want, ok := promised[r.Record]
		if got := strings.Join(slices.Sorted(maps.Keys(v.labels[r.Record])), " "); !ok || got != want {
			t.Errorf("%s: got labels %q want %q, promised %v", r.Record, got, want, ok)
		}
		delete(promised, r.Record)
	}
	for name := range promised {
		t.Errorf("got no %s", name)
	}
}
