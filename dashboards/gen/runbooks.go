package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// linksBelow is the line of runbooks.md before the links to panels.
const linksBelow = "<!-- Links to panels, written by go generate ./dashboards. Change grafana.example.com to your Grafana. -->\n"

// linkedPanel is a link in runbooks.md to a panel, such as [*Overview → Offered*].
func linkedPanel() *regexp.Regexp { return regexp.MustCompile(`\[\*(\w+) → ([^*]+)\*\]`) }

// boardIndex has what a link to a panel needs of a board.
type boardIndex struct {
	UID    string
	Title  string
	Panels []panelIndex
}

// panelIndex is a panel, or a row with panels of its own.
type panelIndex struct {
	ID          int
	Type, Title string
	Panels      []panelIndex
}

// linkRunbooks returns runbooks.md with a link for each panel that it names. Numbers of panels change
// with the boards, so the links are generated.
func linkRunbooks(folder fs.FS, files map[string][]byte) ([]byte, error) {
	text, err := fs.ReadFile(folder, "runbooks.md")
	if err != nil {
		return nil, err
	}
	prose, _, found := strings.Cut(string(text), linksBelow)
	if !found {
		return nil, fmt.Errorf("runbooks.md: no line that says %s", strings.TrimSpace(linksBelow))
	}
	rules, err := fs.ReadFile(folder, "rules/alerts.yml")
	if err != nil {
		return nil, err
	}
	if prose, err = addCommands(prose, string(rules)); err != nil {
		return nil, err
	}
	links := map[string]string{}
	for name, file := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var b boardIndex
		if err := json.Unmarshal(file, &b); err != nil {
			return nil, err
		}
		b.addLinks(links, b.Panels)
	}
	var lines []string
	for _, m := range linkedPanel().FindAllStringSubmatch(prose, -1) {
		name := m[1] + " → " + strings.Join(strings.Fields(m[2]), " ")
		if links[name] == "" {
			return nil, fmt.Errorf("runbooks.md: no panel %s", name)
		}
		lines = append(lines, fmt.Sprintf("[*%s*]: https://grafana.example.com/d/%s\n", name, links[name]))
	}
	slices.Sort(lines)
	return []byte(prose + linksBelow + "\n" + strings.Join(slices.Compact(lines), "")), nil
}

// addLinks adds the path and query of each panel, by board and title. A row has those of its board.
func (b boardIndex) addLinks(links map[string]string, panels []panelIndex) {
	for _, p := range panels {
		link := b.UID
		if p.Type != "row" {
			link += fmt.Sprintf("?viewPanel=%d", p.ID)
		}
		links[strings.TrimPrefix(b.Title, "Throttle / ")+" → "+p.Title] = link
		b.addLinks(links, p.Panels)
	}
}
