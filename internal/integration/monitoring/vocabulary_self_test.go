package monitoring

import (
	"strings"
	"testing"
)

// TestVocabularyNoticesWhatIsWrong plants what it should find.
func TestVocabularyNoticesWhatIsWrong(t *testing.T) {
	v := speak(t)
	for _, tt := range []struct{ expr, want string }{
		{`rate(throttle_cals_total[5m])`, `nobody exposes "throttle_cals_total"`},
		{`{throttle_name="a"}`, `nobody exposes ""`},
		{`throttle_call_active{throttle_decision="shed"}`, "throttle_call_active has no label throttle_decision"},
		{`throttle_calls_total{throttle_decision="rejected"}`, `throttle_decision is never "rejected"`},
		{`throttle_calls_total{throttle_decision=~"shed|admited"}`, `throttle_decision is never "admited"`},
		{`throttle_calls_total{throttle_outcome!~"acc"}`, `throttle_outcome is never "acc"`},
		{`throttle_calls_total{throttle_priority=~"h[a-f].*"}`, "no word of throttle_priority is like that"},
		{`throttle_calls_total{error_type="other"}`, `error_type is never "other"`},
		{`sum by (job, throttle) (throttle_calls_total)`, "no label throttle in throttle_calls_total"},
		{`sum without (pod) (throttle_calls_total)`, "no label pod in throttle_calls_total"},
		{`sum by (throttle_name) (sum by (job) (throttle_calls_total))`, "no label throttle_name in sum by (job)"},
		{`throttle_call_active / on (pod) throttle_window_requests`, "no label pod in throttle_call_active"},
		{`histogram_quantile(0.9, sum by (job) (rate(throttle_call_duration_seconds_bucket[5m])))`, "no label le in sum by (job)"},
		{`max_over_time(sum by (le) (throttle_call_active)[5m:30s])`, "no label le in throttle_call_active"},
		{`sum by (throttle_cause) (throttle:shed_ratio:rate5m)`, "no label throttle_cause in throttle:shed_ratio:rate5m"},
		{`throttle_breaker_circuits{throttle_breaker_state="half-open"}`, `throttle_breaker_state is never "half-open"`},
		{`throttle_breaker_failures_total{throttle_breaker_failure=~"store|pol"}`, `throttle_breaker_failure is never "pol"`},
		{`throttle_breaker_leader{throttle_name="a"}`, "throttle_breaker_leader has no label throttle_name"},
		{`throttle_bucket_requests_total{throttle_bucket_result="failed-open"}`, `throttle_bucket_result is never "failed-open"`},
		{`throttle_bucket_store_duration_seconds_count{throttle_bucket_result="denied"}`, "has no label throttle_bucket_result"},
		{`throttle_backoff_calls_total{throttle_backoff_outcome="rejected"}`, `throttle_backoff_outcome is never "rejected"`},
		{`throttle_backoff_steps_total{throttle_backoff_direction=~"up|dn"}`, `throttle_backoff_direction is never "dn"`},
		{`{__name__=~"throttle_backoff_calls_total|throttle_backoff_call_total"}`, `nobody exposes "throttle_backoff_call_total"`},
		{`throttle_backoff_delay_seconds{throttle_backoff_direction="up"}`, "has no label throttle_backoff_direction"},
		{`sum by (throttle_bucket_key) (throttle_bucket_requests_total)`, "no label throttle_bucket_key in throttle_bucket_requests_total"},
		{`ALERTS{alertstate="resolved"}`, `alertstate is never "resolved"`},
		{`rate(throttle_calls_total[5m]`, "unclosed"},
	} {
		got := strings.Join(v.check(tt.expr), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q want %q", tt.expr, got, tt.want)
		}
	}
}

// TestVocabularyLetsThroughWhatIsRight asks in every way that is right.
func TestVocabularyLetsThroughWhatIsRight(t *testing.T) {
	v := speak(t)
	for _, expr := range []string{
		`sum by (job, throttle_name) (rate(throttle_calls_total{throttle_decision="shed", error_type!~"|canceled"}[5m] offset 1h))`,
		`histogram_quantile(0.99, sum by (le, job) (rate(throttle_call_duration_seconds_bucket{throttle_outcome=~".+"}[5m])))`,
		`throttle_call_active * on (job, throttle_name) group_left () sum by (job, throttle_name) (throttle_window_requests)`,
		`up{job=~".+"} == 0 unless on (job, instance) throttle_calls_total`,
		`count by (throttle_name) (ALERTS{alertname=~"Throttle.*", alertstate="firing", severity!="info"}) or vector(0)`,
		`quantile_over_time(0.5, go_goroutines[5m:10s]) + time() - 2`,
		`label_replace(up, "host", "$1", "instance", "(.*):.*") and on () absent(up{job="a"})`,
	} {
		if wrong := v.check(expr); len(wrong) > 0 {
			t.Errorf("%s: got %q want no complaint", expr, wrong)
		}
	}
}

// TestAnInstanceDoesEverything makes sure that the vocabulary is complete: a label that no series had would look as if it did not exist.
func TestAnInstanceDoesEverything(t *testing.T) {
	v := speak(t)
	for metric, forms := range map[string][]string{
		"throttle_calls_total": {
			"throttle_decision throttle_name throttle_outcome throttle_priority",
			"error_type throttle_decision throttle_name throttle_outcome throttle_priority",
			"throttle_cause throttle_decision throttle_name throttle_outcome throttle_priority",
			"error_type throttle_cause throttle_decision throttle_name throttle_outcome throttle_priority",
		},
		"throttle_call_duration_seconds_count": {"throttle_name throttle_outcome throttle_priority", "error_type throttle_name throttle_outcome throttle_priority"},
		"throttle_fallbacks_total":             {"throttle_name throttle_outcome throttle_priority", "error_type throttle_name throttle_outcome throttle_priority"},
		"throttle_call_active":                 {"throttle_name throttle_priority"},
		"throttle_rejection_probability_ratio": {"throttle_name throttle_priority"},
		"throttle_window_requests":             {"throttle_name throttle_priority"},
		"throttle_window_accepts":              {"throttle_name throttle_priority"},
		"throttle_priority_clamped_total":      {"throttle_name"},

		"throttle_breaker_circuits":             {"throttle_breaker_name throttle_breaker_state"},
		"throttle_breaker_circuit":              {"throttle_breaker_key throttle_breaker_name throttle_breaker_state throttle_breaker_tenant"},
		"throttle_breaker_transitions_total":    {"throttle_breaker_name throttle_breaker_state"},
		"throttle_breaker_calls_total":          {"throttle_breaker_name throttle_breaker_state throttle_decision"},
		"throttle_breaker_snapshot_age_seconds": {"throttle_breaker_name"},
		"throttle_breaker_leader":               {"throttle_breaker_name"},
		"throttle_breaker_failures_total":       {"throttle_breaker_failure throttle_breaker_name"},

		"throttle_bucket_requests_total":               {"throttle_bucket_name throttle_bucket_result"},
		"throttle_bucket_tokens_total":                 {"throttle_bucket_name"},
		"throttle_bucket_waiting":                      {"throttle_bucket_name"},
		"throttle_bucket_store_duration_seconds_count": {"throttle_bucket_name", "error_type throttle_bucket_name"},

		"throttle_backoff_delay_seconds":                {"throttle_backoff_name"},
		"throttle_backoff_steps_total":                  {"throttle_backoff_direction throttle_backoff_name"},
		"throttle_backoff_calls_total":                  {"throttle_backoff_name throttle_backoff_outcome"},
		"throttle_backoff_waiting":                      {"throttle_backoff_name"},
		"throttle_backoff_sleep_duration_seconds_count": {"throttle_backoff_name"},
	} {
		for _, want := range forms {
			if !v.forms[metric][want] {
				t.Errorf("%s: got %v want also %q", metric, v.forms[metric], want)
			}
		}
		if len(v.forms[metric]) != len(forms) {
			t.Errorf("%s: got %d combinations of labels want %d: %v", metric, len(v.forms[metric]), len(forms), v.forms[metric])
		}
	}
}
