package monitoring

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestDashboardsSpeakOfWhatThereIs reads every expression of every dashboard.
func TestDashboardsSpeakOfWhatThereIs(t *testing.T) {
	v := speak(t)
	questions, of := asked(t)
	if len(questions) == 0 {
		t.Fatal("nobody asks anything")
	}
	for _, q := range questions {
		text, err := inGrafana(byDefault(q.board(of))).apply(q.text)
		if err != nil {
			t.Errorf("%s: %v", q.where, err)
			continue
		}
		for _, wrong := range v.check(text) {
			t.Errorf("%s: %s", q.where, wrong)
		}
		if q.kind == ofVariable {
			for _, s := range selectors(mustParse(t, text)) {
				if !v.labelsSelected(s)[q.label] {
					t.Errorf("%s: %s has no label %s", q.where, text, q.label)
				}
			}
		}
	}
}

// named calls check with the name of each series that a dashboard asks for, and where it does.
func named(t *testing.T, check func(where, series string)) {
	t.Helper()
	questions, of := asked(t)
	for _, q := range questions {
		text, err := inGrafana(byDefault(q.board(of))).apply(q.text)
		if err != nil {
			t.Fatalf("%s: %v", q.where, err)
		}
		for _, s := range selectors(mustParse(t, text)) {
			check(q.where, s.Name)
		}
	}
}

// TestPanelsNeedNoRules makes sure that dashboards work in a Prometheus that has none of our rules: they name no series that a rule
// makes. ALERTS is the exception, since there is no other way to show alerts.
func TestPanelsNeedNoRules(t *testing.T) {
	recording, _ := readRules(t)
	made := set{}
	for _, r := range recording {
		made[r.Record] = true
	}
	named(t, func(where, series string) {
		if made[series] {
			t.Errorf("%s: got %s, which only a rule makes", where, series)
		}
	})
}

// TestStorefrontExposesTheRuntime makes sure that panels about the process are not only true of our own instances.
func TestStorefrontExposesTheRuntime(t *testing.T) {
	url := program.Example(t, "storefront", "-listen", "127.0.0.1:0")
	scrape := get(t, url+"/metrics")
	named(t, func(where, series string) {
		ofProcess := strings.HasPrefix(series, "go_") || strings.HasPrefix(series, "process_")
		if ofProcess && !regexp.MustCompile(`(?m)^`+series+`[ {]`).MatchString(scrape) {
			t.Errorf("%s: the storefront does not expose %s", where, series)
		}
	})
}
