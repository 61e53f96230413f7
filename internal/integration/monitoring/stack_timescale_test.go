package monitoring

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/throttle"
)

// A timescale is how much faster time runs in a test than in the files it reads. Nothing is scraped more often than a machine with
// two cores can stand, and no window is shorter than Prometheus needs for a rate.
type timescale int

const (
	usual      timescale = 60 // a minute is a second
	minScrape            = time.Second
	minWindow            = 4 * minScrape
	minWaiting           = time.Millisecond
)

// faster returns how long something takes here that takes d there, but at least so long.
func (by timescale) faster(d, least time.Duration) time.Duration {
	return max(d/time.Duration(by), least).Round(time.Millisecond)
}

// text is the same for a duration as files have it. No time at all stays that.
func (by timescale) text(t testing.TB, text string, least time.Duration) string {
	t.Helper()
	d := throttle.Must(model.ParseDuration(text))
	if d == 0 {
		return text
	}
	return model.Duration(by.faster(time.Duration(d), least)).String()
}

// expr returns an expression with shorter windows, steps and offsets. Its numbers stay, so rates a second mean what they did.
func (by timescale) expr(t testing.TB, text string) string {
	t.Helper()
	expr := mustParse(t, text)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch e := node.(type) {
		case *parser.MatrixSelector:
			e.Range = by.faster(e.Range, minWindow)
		case *parser.SubqueryExpr:
			e.Range = by.faster(e.Range, minWindow)
			if e.Step > 0 {
				e.Step = by.faster(e.Step, minScrape)
			}
			e.OriginalOffset /= time.Duration(by)
		case *parser.VectorSelector:
			e.OriginalOffset /= time.Duration(by)
		}
		return nil
	})
	return expr.String()
}

// durations are the settings that are durations, and how short they may become.
func durations() map[string]time.Duration {
	least := map[string]time.Duration{"scrape_interval": minScrape, "evaluation_interval": minScrape, "interval": minScrape}
	for _, name := range []string{
		"for", "keep_firing_for", "group_wait", "group_interval", "repeat_interval", "resolve_timeout", "mute_time",
	} {
		least[name] = minWaiting
	}
	return least
}

// A replica makes what a test runs of a file of the repository: faster, and with other names of hosts. Nothing else is changed.
type replica struct {
	by     timescale
	hosts  *strings.Replacer
	change func(map[string]any) // for what the file cannot know; nil changes nothing
}

// of returns the text of the copy of a YAML file.
func (c replica) of(t testing.TB, name string) []byte {
	t.Helper()
	var content map[string]any
	readYAML(t, name, &content)
	c.walk(t, content)
	if c.change != nil {
		c.change(content)
	}
	return throttle.Must(yaml.Marshal(content))
}

// walk changes everything below a node, and returns it.
func (c replica) walk(t testing.TB, node any) any {
	t.Helper()
	switch n := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			n[key] = c.setting(t, key, n[key])
		}
	case []any:
		for i := range n {
			n[i] = c.walk(t, n[i])
		}
	case string:
		return c.hosts.Replace(n)
	}
	return node
}

func (c replica) setting(t testing.TB, key string, value any) any {
	t.Helper()
	text, ok := value.(string)
	least, lasts := durations()[key]
	switch {
	case ok && lasts:
		return c.by.text(t, text, least)
	case ok && key == "expr":
		return c.by.expr(t, text)
	}
	return c.walk(t, value)
}
