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

// TestCases runs each file of cases with the label of the files, and without -short with another one, which the chart and the
// generator write in its place. Package install compares what they write with the files.
func TestCases(t *testing.T) {
	// The link is in this module: of files in others go test does not see that they have changed.
	promtool, folder := program.Find(t, "prometheus", "promtool"), filepath.Join("testdata", "rules")
	files, err := filepath.Glob(filepath.Join(folder, "*_test.yml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%s: got %d files of cases and error %v want 15 at least", folder, len(files), err)
	}
	labels, slow := []string{"cluster", "region"}, []string{}
	if testing.Short() {
		labels, slow = labels[:1], []string{"cardinality_test.yml", "days_test.yml"} // days, or thousands of series: a third of the time of all
	}
	for _, label := range labels {
		for _, file := range files {
			name := filepath.Base(file)
			if slices.Contains(slow, name) {
				continue
			}
			t.Run(label+" "+strings.TrimSuffix(name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(promtool, "test", "rules", name)
				cmd.Dir = t.TempDir()
				copyCases(t, folder, name, cmd.Dir, label)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("promtool: %v\n%s", err, out)
				}
			})
		}
	}
}

// copyCases copies a file of cases, and of its rules the groups that it names: the others cost as much, and say nothing.
func copyCases(t *testing.T, from, name, to, label string) {
	t.Helper()
	var cases struct {
		RuleFiles []string `yaml:"rule_files"`
		Order     []string `yaml:"group_eval_order"`
	}
	write(t, filepath.Join(to, name), read(t, filepath.Join(from, name), label, &cases))
	for _, file := range cases.RuleFiles {
		var rules struct{ Groups []map[string]any }
		read(t, filepath.Join(from, file), label, &rules)
		rules.Groups = slices.DeleteFunc(rules.Groups, func(g map[string]any) bool { return !slices.Contains(cases.Order, g["name"].(string)) })
		text, err := yaml.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, file), text)
	}
}

// read reads a file, with a label in place of cluster.
func read(t *testing.T, file, label string, into any) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	text = regexp.MustCompile(`\bcluster\b`).ReplaceAllLiteral(text, []byte(label))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return text
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
