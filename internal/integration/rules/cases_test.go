package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// slowCases are about days, or thousands of series: a third of the time of all. -short leaves them out.
func slowCases() []string { return []string{"cardinality_test.yml", "days_test.yml"} }

// labelsOfClusters are those with which all cases run: that of the files, and without -short another one, which the chart and the
// generator write in its place. Package install compares what they write with the files.
func labelsOfClusters() []string {
	if testing.Short() {
		return []string{"cluster"}
	}
	return []string{"cluster", "region"}
}

// TestCases runs each file of cases with those groups of rules that it names: the others cost as much, and say nothing.
func TestCases(t *testing.T) {
	// The link is in this module: of files in others go test does not see that they have changed.
	promtool, folder := program.Find(t, "prometheus", "promtool"), filepath.Join("testdata", "rules")
	files, err := filepath.Glob(filepath.Join(folder, "*_test.yml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%s: got %d files of cases and error %v want 15 at least", folder, len(files), err)
	}
	for _, label := range labelsOfClusters() {
		for _, file := range files {
			name := filepath.Base(file)
			if testing.Short() && slices.Contains(slowCases(), name) {
				continue
			}
			t.Run(label+" "+strings.TrimSuffix(name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				to := t.TempDir()
				copyCases(t, folder, name, to, label)
				cmd := exec.Command(promtool, "test", "rules", name)
				cmd.Dir = to
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("promtool: %v\n%s", err, out)
				}
			})
		}
	}
}

// copyCases copies a file of cases, and of its rules the groups that it names, with a label in place of cluster.
func copyCases(t *testing.T, from, name, to, label string) {
	t.Helper()
	var cases struct {
		RuleFiles []string `yaml:"rule_files"`
		Groups    []string `yaml:"group_eval_order"`
	}
	write(t, to, name, read(t, filepath.Join(from, name), label, &cases))
	for _, of := range cases.RuleFiles {
		var rules struct {
			Groups []map[string]any `yaml:"groups"`
		}
		text := read(t, filepath.Join(from, of), label, &rules)
		if of == "recording.yml" || of == "alerts.yml" {
			rules.Groups = slices.DeleteFunc(rules.Groups, func(g map[string]any) bool {
				return !slices.Contains(cases.Groups, g["name"].(string))
			})
			var err error
			if text, err = yaml.Marshal(rules); err != nil {
				t.Fatal(err)
			}
		}
		write(t, to, of, text)
	}
}

func read(t *testing.T, file, label string, into any) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		text = regexp.MustCompile(`\bcluster\b`).ReplaceAllLiteral(text, []byte(label))
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return text
}

func write(t *testing.T, folder, name string, text []byte) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
