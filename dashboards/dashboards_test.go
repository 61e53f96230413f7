package dashboards_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(dashboards.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEverythingIsEmbedded checks that all files are embedded, except those for development. The
// tests of the rules are not, because Prometheus would load them as rules.
func TestEverythingIsEmbedded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		if err != nil || entry.IsDir() {
			return err
		}
		ours := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.yml") || name == ".lint" || name == "gen/texts.md"
		_, missing := fs.Stat(dashboards.FS, name)
		if ours != (missing != nil) {
			t.Errorf("%s: got it embedded %v want %v", name, missing == nil, !ours)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRulesKeepPlaces checks that rules and Alertmanager group and join by cluster and namespace: one cluster must not hide another.
func TestRulesKeepPlaces(t *testing.T) {
	for file, lists := range map[string]*regexp.Regexp{
		"rules/recording.yml":           regexp.MustCompile(`\b(?:by|on|ignoring|without) \(([^)]*)\)`),
		"rules/alerts.yml":              regexp.MustCompile(`\b(?:by|on|ignoring|without) \(([^)]*)\)`),
		"alertmanager/alertmanager.yml": regexp.MustCompile(`(?:equal|group_by): \[([^\]]*)\]`),
	} {
		found := lists.FindAllStringSubmatch(readFile(t, file), -1)
		if len(found) < 7 {
			t.Errorf("%s: got %d lists of labels want seven at least", file, len(found))
		}
		for _, m := range found {
			if m[1] != "job" && !strings.Contains(m[1], "cluster, namespace, team, job") { // an objective is of a job in all clusters
				t.Errorf("%s: got %s want cluster, namespace, team and job in it", file, m[0])
			}
		}
	}
	links := regexp.MustCompile(`(?m)^ +dashboard_url: (?:&\w+ )?(/.*)$`).FindAllStringSubmatch(readFile(t, "rules/alerts.yml"), -1)
	for _, m := range links {
		if !strings.Contains(m[1], "{{ with $labels.cluster }}&var-cluster=") || !strings.Contains(m[1], "{{ with $labels.namespace }}&var-namespace=") {
			t.Errorf("rules/alerts.yml: got dashboard_url %s want the cluster and the namespace in it", m[1])
		}
	}
}
