package dashboards_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What a dashboard may ask at once when it is opened, before Prometheus and its readers feel it.
const (
	maxOpenPanels  = 20
	maxOpenQueries = 30
)

func checkCount(b board) []string {
	queries := 0
	for _, p := range b.open() {
		queries += len(p.Targets)
	}
	if len(b.open()) > maxOpenPanels || queries > maxOpenQueries {
		return []string{fmt.Sprintf("%d panels and %d queries are open: want %d and %d at most", len(b.open()), queries, maxOpenPanels, maxOpenQueries)}
	}
	return nil
}

// checkWindows wants rates over what the graph's step and the scrapes need, which is the only window that suits every zoom.
func checkWindows(b board) []string {
	window := regexp.MustCompile(`\[([^\]]+)\]`)
	return b.everyTarget(func(expr string) string {
		for _, m := range window.FindAllStringSubmatch(expr, -1) {
			if m[1] != "$__rate_interval" && m[1] != "5m" { // of numbers and tables, whatever time is shown
				return "the window " + m[0]
			}
		}
		return ""
	})
}

// selectors returns the matchers of each series that a query names.
func selectors(expr string) []string {
	var all []string
	for _, m := range regexp.MustCompile("\\w+\\{((?:[^}`\"]|`[^`]*`|\"[^\"]*\")*)\\}").FindAllStringSubmatch(expr, -1) {
		all = append(all, m[1])
	}
	return all
}

func checkMatchers(b board) []string {
	return b.everyTarget(func(expr string) string {
		found := selectors(expr)
		if len(found) == 0 && !strings.HasPrefix(expr, "vector(") {
			return "no matchers"
		}
		for _, s := range found {
			if !strings.Contains(s, `job=~"$job"`) || !strings.Contains(s, `instance=~"$instance"`) {
				return "no matcher for job and instance"
			}
		}
		return ""
	})
}

// checkCounters wants counters inside rate: their values mean nothing by themselves. How many series they have does.
func checkCounters(b board) []string {
	counter := regexp.MustCompile(`(\S*?)\b\w+_(?:total|sum|count|bucket)\{`)
	return b.everyTarget(func(expr string) string {
		for _, m := range counter.FindAllStringSubmatch(expr, -1) {
			if !strings.HasSuffix(m[1], "rate(") && !strings.HasSuffix(m[1], "increase(") && !strings.Contains(expr, "count by ") {
				return "a counter outside rate"
			}
		}
		return ""
	})
}

// checkExemplars wants traces once per graph, and only where there are some.
func checkExemplars(b board) []string {
	return b.every(func(p panel) []string {
		asked := 0
		for _, t := range p.Targets {
			if t.Exemplar {
				asked++
			}
			if t.Exemplar && !strings.Contains(t.Expr, "_bucket{") {
				return []string{"exemplars of something without buckets"}
			}
		}
		if asked > 1 {
			return []string{"the same exemplars are asked for more than once"}
		}
		return nil
	})
}

// checkRawStrings keeps the names of throttles, breakers, token buckets and backoffs, which are their users' own, out of strings in which a
// quote would end them: Grafana does not escape it.
func checkRawStrings(b board) []string {
	careless := regexp.MustCompile("throttle_(?:breaker_|bucket_|backoff_)?name[!=~]+(?:\"[^\"]*\\$|`[^`]*\\$(?:\\w|\\{\\w+\\}))")
	check := func(expr string) string {
		if careless.MatchString(expr) {
			return "$throttle, $breaker, $bucket or $backoff is not written `${throttle:regex}`, and so on"
		}
		return ""
	}
	found := b.everyTarget(check)
	for _, v := range b.Templating.List {
		if complaint := check(v.Definition); complaint != "" {
			found = append(found, v.Name+": "+complaint)
		}
	}
	for _, a := range b.Annotations.List {
		if complaint := check(a.Expr); complaint != "" {
			found = append(found, a.Name+": "+complaint)
		}
	}
	return found
}

// checkLinks wants links by uid, to dashboards that exist, with what is chosen escaped.
func checkLinks(b board) []string {
	known := []string{"throttle-overview", "throttle-availability", "throttle-breakers", "throttle-limits", "throttle-backoffs"}
	uid := regexp.MustCompile(`^/d/([\w-]+)\?`)
	value := regexp.MustCompile(`\$\w+|\$\{[^}]*\}`)
	escaped := regexp.MustCompile(`:(?:percentencode|queryparam)\}$|^\$\{__url_time_range\}$|^\$\{__data\.fields\.place:raw\}$`)
	var found []string
	for _, l := range b.links() {
		m := uid.FindStringSubmatch(l.URL)
		switch {
		case strings.HasPrefix(l.URL, runbookURL):
			continue
		case m == nil || !slices.Contains(known, m[1]):
			found = append(found, fmt.Sprintf("%s leads to %q: want a dashboard by its uid, or the runbooks", l.Title, l.URL))
		}
		for _, v := range value.FindAllString(l.URL, -1) {
			if !escaped.MatchString(v) {
				found = append(found, fmt.Sprintf("%s: %s is not escaped in %q", l.Title, v, l.URL))
			}
		}
	}
	return found
}
