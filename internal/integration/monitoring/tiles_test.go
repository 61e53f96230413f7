package monitoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A shownField is how a number looks.
type shownField struct {
	Unit, NoValue string
	Decimals      *int
	Mappings      []struct {
		Type    string
		Options json.RawMessage
	}
	Thresholds struct {
		Steps []struct {
			Color string
			Value *float64
		}
	}
}

// A shownOverride changes properties of the fields with some names.
type shownOverride struct {
	Matcher    struct{ ID, Options string }
	Properties []struct {
		ID    string
		Value json.RawMessage
	}
}

// A shownValue is a number with its name, as Grafana shows it.
type shownValue struct{ text, color string }

func (v shownValue) String() string { return v.text + " [" + v.color + "]" }

// look returns what a panel with numbers shows.
func (p *panel) look(t *testing.T, s *stack, i interpolation) []shownValue {
	t.Helper()
	var shown []shownValue
	for _, target := range p.Targets {
		expr, _ := s.ready(t, question{where: p.Title, text: target.Expr}, i)
		answer, err := s.prometheus.instant(expr)
		if err != nil {
			t.Fatalf("%s: %v", p.Title, err)
		}
		for _, one := range answer {
			shown = append(shown, p.show(float64(one.Value), nameOf(target.LegendFormat, one.Metric)))
		}
	}
	if len(shown) == 0 {
		shown = append(shown, p.show(math.NaN(), ""))
	}
	return shown
}

// nameOf returns the name of a series. For a label that is not there Grafana writes its name.
func nameOf(format string, of model.Metric) string {
	return regexp.MustCompile(`\{\{\w+\}\}`).ReplaceAllStringFunc(format, func(found string) string {
		label := strings.Trim(found, "{}")
		return cmp.Or(string(of[model.LabelName(label)]), label)
	})
}

// show shows a number: by a mapping, or by its unit and the thresholds, unless its name has a color. A missing one has the color
// of the first step.
func (p *panel) show(x float64, name string) shownValue {
	f, v := p.FieldConfig.Defaults, shownValue{}
	if text, color, ok := f.mapped(x); ok {
		return shownValue{strings.TrimSpace(text + " " + name), color}
	}
	if v.text = f.format(x) + " " + name; math.IsNaN(x) {
		v.text, x = f.NoValue, math.Inf(-1)
	}
	for _, s := range f.Thresholds.Steps {
		if s.Value == nil || x >= *s.Value {
			v.color = s.Color
		}
	}
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			var own struct{ FixedColor string }
			if o.Matcher.ID == "byRegexp" && property.ID == "color" && regexp.MustCompile(strings.Trim(o.Matcher.Options, "/")).MatchString(name) &&
				json.Unmarshal(property.Value, &own) == nil {
				v.color = own.FixedColor
			}
		}
	}
	return v
}

// mapped returns the text and the color of the first mapping for a value.
func (f shownField) mapped(x float64) (text, color string, ok bool) {
	type result struct{ Text, Color string }
	for _, m := range f.Mappings {
		var words map[string]result
		var other struct {
			From   float64
			Result result
		}
		_, _ = json.Unmarshal(m.Options, &words), json.Unmarshal(m.Options, &other)
		if m.Type == "special" && math.IsNaN(x) || m.Type == "range" && x >= other.From {
			return other.Result.Text, other.Result.Color, true
		}
		if r, found := words[strconv.FormatFloat(x, 'f', -1, 64)]; found {
			return r.Text, r.Color, true
		}
	}
	return "", "", false
}

// format writes a number with its unit, about as Grafana does.
func (f shownField) format(x float64) string {
	if f.Unit == "percentunit" && f.Decimals != nil {
		return strconv.FormatFloat(100*x, 'f', *f.Decimals, 64) + "%"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// shows waits until Overview shows the numbers of the storefront: pairs of a title, and a pattern of its text and color.
func (s *stack) shows(t *testing.T, want ...string) {
	t.Helper()
	overview := readDashboards(t)["overview.json"]
	i := inGrafana(byDefault(overview))
	i.chosen["job"] = choice{values: []string{"storefront"}, several: true}
	program.Eventually(t, "Overview shows it", func() (wrong string) {
		for n := 0; n < len(want); n += 2 {
			got := fmt.Sprint(overview.panel(want[n]).look(t, s, i))
			if !regexp.MustCompile(want[n+1]).MatchString(got) {
				wrong += fmt.Sprintf("%s: got %s want %s\n", want[n], got, want[n+1])
			}
		}
		return wrong
	})
}

// panel returns an open panel.
func (d dashboard) panel(title string) *panel {
	for _, p := range d.Panels {
		if p.Title == title {
			return p
		}
	}
	return nil
}
