package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spillway-go/spillway/dashboards"
)

// export writes the dashboards, the rules and the base for kustomize of this build into a folder. The label cluster is a
// word of its own in them, also in links and names of variables, and gets another name.
func export(to, cluster string) error {
	word := regexp.MustCompile(`\bcluster\b`)
	return fs.WalkDir(dashboards.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "pro") { // Markdown, provisioning, prometheus
			return err
		}
		text, err := fs.ReadFile(dashboards.FS, name)
		if err != nil {
			return err
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, word.ReplaceAllLiteral(text, []byte(cluster)), 0o644)
	})
}
