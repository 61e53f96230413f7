package main

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"

	"github.com/spillway-go/spillway/dashboards"
)

// names are what another repository calls things: the labels of a cluster and of a team, and the URL of the runbooks.
type names struct{ cluster, team, runbooks string }

// apply renames all of them in a text. The labels are words of their own in it, also in links and names of variables.
func (n names) apply(text []byte) []byte {
	text = regexp.MustCompile(`\bcluster\b`).ReplaceAllLiteral(text, []byte(n.cluster))
	text = regexp.MustCompile(`\bteam\b`).ReplaceAllLiteral(text, []byte(n.team))
	return bytes.ReplaceAll(text, []byte(runbooks), []byte(n.runbooks))
}

// export writes the dashboards, the rules and the base for kustomize of this build into a folder.
func export(to string, n names) error {
	return fs.WalkDir(dashboards.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "pro") { // Markdown, provisioning, prometheus
			return err
		}
		text, err := fs.ReadFile(dashboards.FS, name)
		if err != nil {
			return err
		}
		return writeFile(to, name, n.apply(text))
	})
}
