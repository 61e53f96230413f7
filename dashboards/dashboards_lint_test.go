package dashboards_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

const runbookURL = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(dashboards.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// boards returns all dashboards.
func boards(t *testing.T) []board {
	t.Helper()
	names, err := fs.Glob(dashboards.FS, "*.json")
	if err != nil || len(names) < 2 {
		t.Fatalf("dashboards: got %v and error %v want two at least", names, err)
	}
	var all []board
	for _, name := range names {
		all = append(all, readBoard(t, name, readFile(t, name)))
	}
	return all
}

// excused reports whether a complaint is about a panel for which the rule makes an exception.
func excused(rule, complaint string) bool {
	return slices.ContainsFunc(exceptions()[rule], func(title string) bool { return strings.HasPrefix(complaint, title+": ") })
}

func TestLint(t *testing.T) {
	for _, b := range boards(t) {
		for _, r := range rules() {
			for _, complaint := range r.check(b) {
				if !excused(r.name, complaint) {
					t.Errorf("%s: %s: %s", b.file, r.name, complaint)
				}
			}
		}
	}
}

func TestUIDsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, b := range boards(t) {
		if other, ok := seen[b.UID]; ok {
			t.Errorf("%s and %s: got the same uid %q", b.file, other, b.UID)
		}
		seen[b.UID] = b.file
	}
}

// TestExceptions checks that each exception is needed, and is in .lint for Grafana's linter too.
func TestExceptions(t *testing.T) {
	for name, titles := range exceptions() {
		i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == name })
		if i < 0 {
			t.Errorf("exceptions: got %q, which is no rule", name)
			continue
		}
		for _, title := range titles {
			needed := false
			for _, b := range boards(t) {
				for _, complaint := range rules()[i].check(b) {
					needed = needed || strings.HasPrefix(complaint, title+": ")
				}
			}
			if !needed {
				t.Errorf("%s: the exception for %q is not needed", name, title)
			}
			if name != "target-rate-interval" && !strings.Contains(lintFile(t), "        panel: "+title+"\n") { // that one has no list
				t.Errorf("%s: .lint does not name %q", name, title)
			}
		}
	}
}

// TestLintFindsPlanted makes one thing wrong after the other with a dashboard in which nothing is.
func TestLintFindsPlanted(t *testing.T) {
	const selector = "throttle_window_requests{job=~\"$job\",instance=~\"$instance\",throttle_name=~`${throttle:regex}`}"
	plant := func(old, replacement string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, replacement, 1) }
	}
	for _, tt := range []struct {
		rule  string
		wrong func(string) string
	}{
		{"uid", plant(`"uid": "throttle-overview"`, `"uid": "Overview"`)},
		{"title", plant(`"title": "Throttle / Overview"`, `"title": "Overview"`)},
		{"template-variables", plant(`"name": "instance"`, `"name": "pod"`)},
		{"panel-title-description", plant(`"description": "Offered calls by outcome.`, `"description": "", "was": "`)},
		{"panel-title-description", plant(`"title": "Shed"`, `"title": "Offered"`)},
		{"panel-units", plant(`"unit": "reqps"`, `"unit": "calls"`)},
		{"panel-no-value", plant(`"noValue": "no traffic"`, `"noValue": ""`)},
		{"panel-no-targets", plant(`"refId": "B"`, `"refId": "A"`)},
		{"panel-legend", plant(`"sortBy": "Max"`, `"sortBy": "max"`)},
		{"panel-thresholds", func(text string) string { return strings.ReplaceAll(text, `"value": 0.05`, `"value": 0.7`) }},
		{"panel-count", func(text string) string { return strings.ReplaceAll(text, `"type": "row"`, `"type": "stat"`) }},
		{"target-rate-interval", plant(`[$__rate_interval]`, `[3m]`)},
		{"target-job-instance", plant(`instance=~\"$instance\",throttle_name`, `throttle_name`)},
		{"target-counter-agg", plant(`"expr": "sum(rate(throttle_calls_total{`, `"expr": "sum((throttle_calls_total{`)},
		{"target-exemplar", plant(`"exemplar": false,`, `"exemplar": true,`)},
		{"raw-strings", plant("throttle_name=~`${throttle:regex}`", "throttle_name=~`$throttle`")},
		{"links", plant("/d/throttle-availability?", "/d/throttle-faults?")},
		{"links", plant("throttle_name:percentencode", "throttle_name")},
		{"legend-height", func(text string) string { return strings.ReplaceAll(text, `"h": 10,`, `"h": 9,`) }},
		{"priority-order", plant(`, \"order\", `, `, \"rank\", `)},
		{"title-width", plant(`"title": "High failed"`, `"title": "High calls that failed for lack of capacity"`)},
		{"header-width", plant(`"id": "custom.width", "value": 110`, `"id": "custom.width", "value": 70`)},
		{"board-height", func(text string) string { return strings.ReplaceAll(text, `"h": 10,`, `"h": 30,`) }},
		{"annotation-marks", plant(`"useValueForTime": true`, `"useValueForTime": false`)},
		{"annotation-marks", plant(`"titleFormat": "{{throttle_name}}"`, `"titleFormat": "{{throttle_name}} {{error_type}}"`)},
		{"annotation-marks", plant("throttle_tuning_name=~`${throttle:regex}`", "throttle_tuning_name!=`${throttle:regex}`")},
		{"annotation-marks", plant(`"ids": [`, `"ids": [1, `)},
		{"stat-worst", plant(`"expr": "topk(1, `, `"expr": "avg(`)},
		{"quantile-color", func(text string) string {
			head, tail, _ := strings.Cut(text, `"options": "p99"`)
			return head + `"options": "p99"` + strings.Replace(tail, `"purple"`, `"red"`, 1)
		}},
	} {
		i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == tt.rule })
		right := string(readFile(t, "overview.json"))
		wrong := tt.wrong(right)
		if wrong == right || !json.Valid([]byte(wrong)) {
			t.Errorf("%s: nothing was planted, or too much", tt.rule)
			continue
		}
		if found := rules()[i].check(readBoard(t, "planted", []byte(wrong))); len(found) == 0 {
			t.Errorf("%s: got no complaint about what was planted", tt.rule)
		}
	}
	if got := selectors("a / " + selector + " > 0"); len(got) != 1 || !strings.HasPrefix(got[0], "job=") {
		t.Errorf("selectors: got %q want the one", got)
	}
}
