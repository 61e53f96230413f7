package dashboards_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

// lintFile returns what Grafana's own linter is told. It is not embedded: nobody but us needs it.
func lintFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(".lint")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEverythingIsEmbedded: whoever has the package has all files, but for those that only we need. Prometheus would take the tests of
// the rules for rules.
func TestEverythingIsEmbedded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		if err != nil || entry.IsDir() {
			return err
		}
		ours := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.yml") || name == ".lint"
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
