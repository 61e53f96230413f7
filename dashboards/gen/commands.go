package main

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// stepBegins and stepEnds enclose the commands of an alert in runbooks.md. They are those of its annotation commands, with
// the example names of the page.
const (
	stepBegins = "<!-- Commands of alerts.yml, written by go generate ./dashboards. -->\n"
	stepEnds   = "<!-- End of the commands. -->\n\n"
)

// addCommands puts the commands of each alert before what it means.
func addCommands(runbooks, rules string) (string, error) {
	all, err := commandsOf(rules)
	if err != nil {
		return "", err
	}
	head, sections, _ := strings.Cut(runbooks, "\n## Throttle")
	out := head
	for section := range strings.SplitSeq(sections, "\n## Throttle") {
		name, _, _ := strings.Cut(section, "\n")
		if before, rest, found := strings.Cut(section, stepBegins); found {
			_, after, _ := strings.Cut(rest, stepEnds)
			section = before + after
		}
		block := stepBegins + "\nTonight, without a release:\n\n```sh\n" + all["Throttle"+name] + "```\n\n" + stepEnds
		before, after, found := strings.Cut(section, "**Means:**")
		if !found || all["Throttle"+name] == "" {
			return "", fmt.Errorf("runbooks.md: Throttle%s has no line **Means:**, or the alert no annotation commands", name)
		}
		out += "\n## Throttle" + before + block + "**Means:**" + after
	}
	return out, nil
}

// commandsOf returns the commands of each alert, the first one of a name, with the example names of the runbooks.
func commandsOf(rules string) (map[string]string, error) {
	all, anchors, alert := map[string]string{}, map[string]string{}, ""
	parts := regexp.MustCompile(`(?m)^ *- alert: (\w+)$|^ *commands: (?:&(\w+) )?\|\n((?:` + inAnnotation + `.*\n)+)|^ *commands: \*(\w+)$`)
	for _, m := range parts.FindAllStringSubmatch(rules, -1) {
		name, anchor, block, alias := m[1], m[2], m[3], m[4]
		if name != "" {
			alert = name
			continue
		}
		if block != "" {
			anchors[anchor] = regexp.MustCompile("(?m)^"+inAnnotation).ReplaceAllString(block, "")
			alias = anchor
		}
		if all[alert] != "" {
			continue
		}
		var err error
		if all[alert], err = exampleOf(anchors[alias]); err != nil {
			return nil, fmt.Errorf("%s: %w", alert, err)
		}
	}
	return all, nil
}

// exampleOf fills in the example names, as Prometheus fills in labels.
func exampleOf(text string) (string, error) {
	labels := map[string]string{
		"job": "shop", "namespace": "shop", "instance": "10.0.0.7:9464", "throttle_name": "stock", "throttle_retry_name": "stock",
		"throttle_breaker_name": "webhooks", "throttle_bucket_name": "partner", "throttle_backoff_name": "table", "throttle_mode": "shadow",
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"reReplaceAll": func(pattern, by, text string) string { return regexp.MustCompile(pattern).ReplaceAllString(text, by) },
		"query":        func(string) []float64 { return []float64{200} },
		"first":        func(all []float64) float64 { return all[0] },
		"value":        func(one float64) float64 { return one },
	}).Parse("{{ $labels := . }}" + text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, labels)
	return out.String(), err
}
