package rules

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// TestCases runs each file of cases with those groups of rules that it names: the others cost as much, and say nothing. With -short
// each case has a file of its own, with those rules of the groups that it needs.
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
				cmd := exec.Command(promtool, "test", "rules")
				cmd.Dir = t.TempDir()
				cmd.Args = append(cmd.Args, copyCases(t, folder, name, cmd.Dir, label)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("promtool: %v\n%s", err, out)
				}
			})
		}
	}
}

// copyCases copies a file of cases, and of its rules the groups that it names, with a label in place of cluster. It returns the
// files for promtool.
func copyCases(t *testing.T, from, name, to, label string) []string {
	t.Helper()
	var cases caseFile
	read(t, filepath.Join(from, name), label, &cases)
	var groups []group
	for _, of := range cases.RuleFiles {
		var rules ruleFile
		read(t, filepath.Join(from, of), label, &rules)
		groups = append(groups, rules.Groups...)
	}
	groups = slices.DeleteFunc(groups, func(g group) bool { return !slices.Contains(cases.Order, g.Name) })
	cases.RuleFiles = []string{"rules.yml"}
	if !testing.Short() {
		write(t, filepath.Join(to, name), cases)
		write(t, filepath.Join(to, "rules.yml"), ruleFile{groups})
		return []string{name}
	}
	var files []string
	for i, one := range cases.Tests {
		part := cases
		part.Tests = []yaml.Node{one}
		folder := strconv.Itoa(i)
		write(t, filepath.Join(to, folder, name), part)
		write(t, filepath.Join(to, folder, "rules.yml"), ruleFile{needed(t, one, groups)})
		files = append(files, filepath.Join(folder, name))
	}
	return files
}

func read(t *testing.T, file, label string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(regexp.MustCompile(`\bcluster\b`).ReplaceAllLiteral(text, []byte(label))))
		d.KnownFields(true) // what is not known would not be copied
		err = d.Decode(into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func write(t *testing.T, path string, value any) {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
