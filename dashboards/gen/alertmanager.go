package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// alertmanagerConfig returns the inhibitions of alertmanager.yml as an AlertmanagerConfig of the Prometheus operator.
func alertmanagerConfig(folder fs.FS) ([]byte, error) {
	const name = "alertmanager/alertmanager.yml"
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	_, rules, ok := strings.Cut(string(text), "\ninhibit_rules:\n")
	if !ok {
		return nil, fmt.Errorf("%s: no line that says inhibit_rules: alone", name)
	}
	out := header + `apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata:
  name: spillway
spec:
  inhibitRules:
`
	matcher := regexp.MustCompile(`^- (\w+)(=~|!=|!~|=)(".*")$`)
	words := strings.NewReplacer("source_matchers:", "sourceMatch:", "target_matchers:", "targetMatch:")
	for line := range strings.Lines(rules) {
		word := strings.TrimSpace(line)
		if word == "" || word[0] == '#' {
			continue
		}
		indent := line[:strings.Index(line, word)]
		out += "  " + indent + matcher.ReplaceAllString(words.Replace(word), `- {name: $1, matchType: "$2", value: $3}`) + "\n"
	}
	return []byte(out), nil
}
