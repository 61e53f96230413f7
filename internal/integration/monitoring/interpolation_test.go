package monitoring

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// An interpolation puts into an expression what people have chosen, as Grafana does for Prometheus.
type interpolation struct {
	chosen   map[string]choice
	modern   bool          // with what Grafana 12 has behind the switch prometheusSpecialCharsInLabelValues
	scrape   time.Duration // timeInterval of the data source
	interval time.Duration // between two points of a graph
	span     time.Duration // from one end of the graph to the other
}

type choice struct {
	values  []string
	literal bool // the allValue of All, which is not escaped
	several bool // more than one may be chosen, so that it is meant for a regular expression
}

// reference is how an expression names a variable. A digit is none: $1 is what label_replace has captured.
var reference = regexp.MustCompile(`\$([a-zA-Z_]\w*)|\$\{(\w+)(?::(\w+))?\}`)

// apply returns the expression with all variables replaced, or an error with the unknown variables.
func (i interpolation) apply(text string) (string, error) {
	var unknown []string
	result := reference.ReplaceAllStringFunc(text, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		value, ok := i.value(parts[1]+parts[2], parts[3])
		if !ok {
			unknown = append(unknown, found)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("unknown variable %s", strings.Join(unknown, ", "))
	}
	return result, nil
}

func (i interpolation) value(name, format string) (string, bool) {
	switch name {
	case "__interval":
		return promDuration(i.interval), format == ""
	case "__rate_interval":
		return promDuration(max(i.interval+i.scrape, 4*i.scrape)), format == ""
	case "__range":
		return promDuration(i.span), format == ""
	}
	c, ok := i.chosen[name]
	switch {
	case !ok:
		return "", false
	case c.literal:
		return c.values[0], true
	case format == "regex":
		return join(c.values, escapeForRegex), true
	case format != "":
		return "", false
	case !c.several:
		return i.escapeOne(c.values[0]), true
	}
	return join(c.values, i.escapeForString), true
}

func join(values []string, escape func(string) string) string {
	escaped := make([]string, 0, len(values))
	for _, v := range values {
		escaped = append(escaped, escape(v))
	}
	if len(escaped) == 1 {
		return escaped[0]
	}
	return "(" + strings.Join(escaped, "|") + ")"
}

func escapeForRegex(value string) string {
	return regexp.MustCompile(`[\\^$*+?.()|\[\]{}/]`).ReplaceAllString(value, `\$0`)
}

// escapeForString is for a regular expression within double quotes. The older one forgets the quotes themselves.
func (i interpolation) escapeForString(value string) string {
	value = strings.ReplaceAll(value, `\`, `\\\\`)
	special := `[$^*{}\[\]+?.()|]`
	if i.modern {
		value = strings.ReplaceAll(value, `"`, `\\\"`)
		special = `[$^*{}\[\]'+?.()|]`
	}
	return regexp.MustCompile(special).ReplaceAllString(value, `\\$0`)
}

// escapeOne is for a variable of which only one value can be chosen.
func (i interpolation) escapeOne(value string) string {
	value = strings.ReplaceAll(value, `\`, `\\`)
	if i.modern {
		return strings.ReplaceAll(value, `"`, `\"`)
	}
	return strings.ReplaceAll(value, `'`, `\\'`)
}

func promDuration(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// byDefault returns the default value in Grafana: All, or the text.
func byDefault(d dashboard) map[string]choice {
	chosen := map[string]choice{}
	for _, v := range d.Templating.List {
		switch {
		case v.Type == "query":
			chosen[v.Name] = choice{values: []string{v.AllValue}, literal: true, several: v.Multi || v.IncludeAll}
		case v.IncludeAll:
			chosen[v.Name] = choice{values: []string{v.AllValue}, literal: true, several: true}
		case v.Type == "textbox":
			chosen[v.Name] = choice{values: []string{v.Query.(string)}}
		}
	}
	return chosen
}

// inGrafana fills in what an interpolation needs beside the choices: an hour on a screen of usual width, with the scrape interval
// of the compose stack.
func inGrafana(chosen map[string]choice) interpolation {
	return interpolation{chosen: chosen, scrape: 5 * time.Second, interval: 15 * time.Second, span: time.Hour}
}
