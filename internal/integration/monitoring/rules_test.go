package monitoring

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// run runs one of the tools in a folder of the repository, and returns what it says if it has a complaint.
func run(t *testing.T, folder, tool string, flags ...string) {
	t.Helper()
	cmd := exec.Command(tool, flags...)
	cmd.Dir = program.File(t, folder)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(tool), strings.Join(flags, " "), err, said)
	}
}

// TestRulesHoldAndSpeakOfWhatThereIs is what promtool and the vocabulary have to say about the rules. Promtool's own tests feed the rules with series that
// are written down beside them, and so would never notice that nobody exposes such series any more: they only count for something if
// the vocabulary has no complaint.
func TestRulesHoldAndSpeakOfWhatThereIs(t *testing.T) {
	v := speak(t)
	for name, check := range map[string]func(*testing.T, *vocabulary){
		"check config": func(t *testing.T, v *vocabulary) {
			rulesSpeakOfWhatThereIs(t, v)
			run(t, "dashboards/prometheus", promtool(t), "check", "config", "prometheus.yml")
		},
		"check rules": func(t *testing.T, v *vocabulary) {
			rulesSpeakOfWhatThereIs(t, v)
			run(t, "dashboards/rules", promtool(t), "check", "rules", "--lint=all", "--lint-fatal", "recording.yml", "alerts.yml")
		},
		"test rules": func(t *testing.T, v *vocabulary) {
			rulesSpeakOfWhatThereIs(t, v)
			casesSpeakOfWhatThereIs(t, v)
			for file := range readRuleTests(t) {
				run(t, "dashboards/rules", promtool(t), "test", "rules", file)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, v) })
	}
}

func promtool(t *testing.T) string { return program.Find(t, "prometheus", "promtool") }

// rulesSpeakOfWhatThereIs reads every expression of every rule, and every label that the texts of alerts name.
func rulesSpeakOfWhatThereIs(t *testing.T, v *vocabulary) {
	t.Helper()
	for _, wrong := range v.wrong {
		t.Errorf("recording.yml: %s", wrong)
	}
	_, alerts := readRules(t)
	for _, a := range alerts {
		for _, wrong := range v.check(a.Expr) {
			t.Errorf("alerts.yml: %s: %s", a.Alert, wrong)
		}
		has := v.labelsOf(a)
		for name, text := range a.Annotations {
			for _, label := range labelsNamed(text) {
				if !has[label] {
					t.Errorf("alerts.yml: %s: annotation %s: the alert has no label %s", a.Alert, name, label)
				}
			}
		}
	}
	if t.Failed() {
		t.FailNow() // whatever promtool has to say would be about something that does not exist
	}
}

// labelsNamed returns the labels that the template of an annotation names.
func labelsNamed(text string) []string {
	var named []string
	for _, found := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
		named = append(named, found[1])
	}
	return named
}

// casesSpeakOfWhatThereIs makes sure that the cases for promtool are about series as they are exposed.
func casesSpeakOfWhatThereIs(t *testing.T, v *vocabulary) {
	t.Helper()
	for file, test := range readRuleTests(t) {
		seeds := v.seeds(t, file, test)
		for _, one := range test.Tests {
			for _, input := range one.InputSeries {
				for _, wrong := range v.checkSeries(input.Series, seeds) {
					t.Errorf("%s: %s: %s", file, input.Series, wrong)
				}
			}
			for _, asked := range one.Exprs {
				for _, wrong := range v.check(asked.Expr) {
					t.Errorf("%s: %s", file, wrong)
				}
			}
		}
	}
}

// seeds returns the names from which rules made for a test alone grow many series. What they end up with must be exposed.
func (v *vocabulary) seeds(t *testing.T, file string, test ruleTest) set {
	t.Helper()
	used, made := set{}, set{}
	for _, name := range test.RuleFiles {
		if !strings.HasPrefix(name, "testdata/") {
			continue
		}
		var grows ruleFile
		readYAML(t, "dashboards/rules/"+name, &grows)
		for _, r := range grows.rules() {
			made[r.Record] = true
			for _, s := range selectors(mustParse(t, r.Expr)) {
				used[s.Name] = true
			}
		}
	}
	for name := range made {
		if !used[name] && v.labels[name] == nil {
			t.Errorf("%s: nobody exposes %q", file, name)
		}
	}
	return used
}

// checkSeries returns what is wrong with a series that somebody has written down. Seeds have no metric of their own, but its words.
func (v *vocabulary) checkSeries(series string, seeds set) []string {
	of, err := newParser().ParseMetric(series)
	if err != nil {
		return []string{err.Error()}
	}
	metric := of.Get(model.MetricNameLabel)
	has, ok := v.labels[metric]
	if !ok && !seeds[metric] {
		return []string{fmt.Sprintf("nobody exposes %q", metric)}
	}
	var names, wrong []string
	of.Range(func(l labels.Label) {
		switch {
		case l.Name == model.MetricNameLabel:
			return
		case ok && !has[l.Name]:
			wrong = append(wrong, fmt.Sprintf("%s has no label %s", metric, l.Name))
		}
		names = append(names, l.Name)
		wrong = append(wrong, checkWords(labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))...)
	})
	if forms := v.forms[metric]; len(forms) > 0 && !forms[form(names)] {
		wrong = append(wrong, fmt.Sprintf("no series of %s has just the labels %s", metric, form(names)))
	}
	return wrong
}

// TestAlertsSayWhatToDo checks what every alert carries.
func TestAlertsSayWhatToDo(t *testing.T) {
	uids := map[string]dashboard{}
	for _, d := range readDashboards(t) {
		uids[d.UID] = d
	}
	headings := runbookHeadings(t)
	_, alerts := readRules(t)
	for _, a := range alerts {
		if !closedWords()["severity"][a.Labels["severity"]] || a.Labels["component"] != "throttle" {
			t.Errorf("%s: got labels %v want a severity, and the component throttle", a.Alert, a.Labels)
		}
		if a.Annotations["summary"] == "" || strings.Contains(a.Annotations["summary"], "{{") || a.Annotations["description"] == "" {
			t.Errorf("%s: got annotations %v want a summary that is always the same, and a description", a.Alert, a.Annotations)
		}
		want := "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md#" + strings.ToLower(a.Alert)
		if got := a.Annotations["runbook_url"]; got != want || !headings[a.Alert] {
			t.Errorf("%s: got runbook %s, which has the headings %v, want %s", a.Alert, got, headings, want)
		}
		for _, wrong := range checkLink(a.Annotations["dashboard_url"], uids) {
			t.Errorf("%s: %s", a.Alert, wrong)
		}
	}
	for _, a := range alerts {
		delete(headings, a.Alert)
	}
	for heading := range headings {
		if strings.HasPrefix(heading, "Throttle") {
			t.Errorf("runbooks.md: got a heading %s, which is no alert", heading)
		}
	}
}

// runbookHeadings returns the headings of the runbooks that lead to an alert.
func runbookHeadings(t *testing.T) set {
	t.Helper()
	text, err := os.ReadFile(program.File(t, "dashboards/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := set{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		found[strings.TrimSpace(heading[1])] = true
	}
	return found
}

// checkLink returns what is wrong with a link to a dashboard.
func checkLink(link string, uids map[string]dashboard) []string {
	uid, query, _ := strings.Cut(strings.TrimPrefix(link, "/d/"), "?")
	d, ok := uids[uid]
	if !ok {
		return []string{fmt.Sprintf("got dashboard_url %q want /d/ and one of %v", link, slices.Sorted(maps.Keys(uids)))}
	}
	known := set{}
	for _, v := range d.Templating.List {
		known[v.Name] = true
	}
	var wrong []string
	for _, found := range regexp.MustCompile(`(?:^|&)var-(\w+)=`).FindAllStringSubmatch(query, -1) {
		if !known[found[1]] {
			wrong = append(wrong, fmt.Sprintf("dashboard %s has no variable %s", uid, found[1]))
		}
	}
	return wrong
}
