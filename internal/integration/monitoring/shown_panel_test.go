package monitoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A panel has its queries, what decides how it looks, and what it shows. It may be a row, which has panels of its own while
// it is collapsed.
type panel struct {
	Type, Title string
	GridPos     struct{ W, H int }
	Targets     []struct {
		Expr, LegendFormat, RefID string
		Exemplar                  bool
	}
	Panels      []*panel
	FieldConfig struct {
		Defaults  shownField
		Overrides []shownOverride
	}
	Options struct {
		TextMode string
		Legend   struct{ DisplayMode string }
		SortBy   []struct {
			DisplayName string
			Desc        bool
		}
	}

	shown []shownValue   // of a stat, a bar and a legend
	rows  [][]shownValue // of a table; the first has the titles
}

// look asks for everything that the panel shows.
func (p *panel) look(t *testing.T, s *stack, i interpolation) error {
	p.shown, p.rows = nil, nil
	var answers [][]series
	for _, target := range p.Targets {
		expr, _ := s.ready(t, question{where: p.Title, text: target.Expr}, i)
		answer, err := p.ask(s.prometheus, expr)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Title, err)
		}
		answers = append(answers, answer)
	}
	p.fillTable(answers)
	p.fillValues(answers)
	return nil
}

// ask returns the series of a graph in the last moments, and the present ones of other panels.
func (p *panel) ask(of server, expr string) ([]series, error) {
	if p.Type != "timeseries" {
		return of.instant(expr)
	}
	all, err := of.graph(expr)
	for i := range all {
		all[i].Value = all[i].Values[len(all[i].Values)-1]
	}
	return all, err
}

// nameOf returns the name of a series in a legend. For a label that is not there Grafana writes its name.
func nameOf(format string, one series) string {
	return regexp.MustCompile(`\{\{\w+\}\}`).ReplaceAllStringFunc(format, func(found string) string {
		label := strings.Trim(found, "{}")
		return cmp.Or(one.Metric[label], label)
	})
}

// fillValues fills what a stat, a bar gauge or a legend shows.
func (p *panel) fillValues(answers [][]series) {
	if p.Type == "table" {
		return
	}
	for n := range answers {
		for _, one := range answers[n] {
			v := p.FieldConfig.Defaults.show(one.Value.number())
			if p.Type != "stat" || p.Options.TextMode == "value_and_name" {
				v.text += " " + nameOf(p.Targets[n].LegendFormat, one)
			}
			p.shown = append(p.shown, v)
		}
	}
	if len(p.shown) == 0 && p.Type != "timeseries" {
		p.shown = []shownValue{p.FieldConfig.Defaults.show(math.NaN())}
	}
}

// fillTable merges the answers as Grafana does: rows with the same labels are one row.
func (p *panel) fillTable(answers [][]series) {
	if p.Type != "table" {
		return
	}
	rows, order := map[string]map[string]any{}, []string(nil)
	for n, answer := range answers {
		field := "Value #" + p.Targets[n].RefID
		if len(answers) == 1 {
			field = "Value"
		}
		for _, one := range answer {
			key := fmt.Sprint(one.Metric)
			if rows[key] == nil {
				rows[key], order = map[string]any{}, append(order, key)
			}
			for label, value := range one.Metric {
				rows[key][label] = value
			}
			rows[key][field] = one.Value.number()
		}
	}
	fields := p.fields()
	p.rows = make([][]shownValue, 1)
	for _, f := range fields {
		p.rows[0] = append(p.rows[0], shownValue{text: f.DisplayName})
	}
	p.sort(rows, order, fields)
	for _, key := range order {
		var cells []shownValue
		for _, f := range fields {
			cells = append(cells, f.cell(rows[key][f.name]))
		}
		p.rows = append(p.rows, cells)
	}
}

// sort sorts as the table does at first.
func (p *panel) sort(rows map[string]map[string]any, order []string, fields []shownField) {
	text := func(of any) string {
		if x, ok := of.(float64); ok {
			return fmt.Sprintf("%020.6f", x)
		}
		return fmt.Sprint(of)
	}
	for _, by := range slices.Backward(p.Options.SortBy) {
		field := fields[slices.IndexFunc(fields, func(f shownField) bool { return f.DisplayName == by.DisplayName })].name
		slices.SortStableFunc(order, func(a, b string) int {
			if by.Desc {
				a, b = b, a
			}
			return strings.Compare(text(rows[a][field]), text(rows[b][field]))
		})
	}
}

// room returns how many rows of a legend or a table can be seen without scrolling. The sizes are those of the lint of the boards.
func (p *panel) room() int {
	rows := int(0.35 * float64(38*p.GridPos.H-48) / 22.5)
	switch {
	case p.Type == "table":
		return (38*p.GridPos.H-48)/36 - 1
	case p.Options.Legend.DisplayMode == "list":
		return rows * int((39.5*float64(p.GridPos.W)-16)/150)
	}
	return rows - 1
}

// wrong returns what no panel may show in any phase. A legend by job may have any number of series.
func (p *panel) wrong() (wrong string) {
	want := shownValue{text: p.FieldConfig.Defaults.NoValue, color: "text", missing: true}
	if p.Type == "table" {
		want = shownValue{color: "transparent", missing: true}
	}
	for _, v := range slices.Concat(append(p.rows, p.shown)...) {
		if p.Type != "timeseries" && v.missing && v != want {
			wrong += fmt.Sprintf("%s: a missing number is %v want %v\n", p.Title, v, want)
		}
	}
	if p.Type == "timeseries" && len(p.shown) > p.room() && !strings.Contains(p.Targets[0].LegendFormat, "{{job}}") {
		wrong += fmt.Sprintf("%s: %d series, and a legend with room for %d\n", p.Title, len(p.shown), p.room())
	}
	return wrong
}

// String lists what the panel shows.
func (p *panel) String() string {
	switch p.Type {
	case "table":
		text := fmt.Sprintf("- %s, %d rows with room for %d:", p.Title, len(p.rows)-1, p.room())
		for _, row := range p.rows {
			text += "\n  - " + joined(row, " | ")
		}
		return text
	case "timeseries":
		return fmt.Sprintf("- %s, legend %d with room for %d: %s", p.Title, len(p.shown), p.room(), joined(p.shown, "; "))
	}
	return "- " + p.Title + ": " + joined(p.shown, "; ")
}

// A shownValue is a number or a word as Grafana shows it.
type shownValue struct {
	text, color string
	missing     bool
}

// joined returns the texts, each with its color if it has one.
func joined(of []shownValue, by string) string {
	var all []string
	for _, v := range of {
		if v.color != "text" && v.color != "transparent" && v.color != "" {
			v.text += " [" + v.color + "]"
		}
		all = append(all, v.text)
	}
	return strings.Join(all, by)
}

// A shownField is how a field looks: the defaults of a panel, or a column of a table.
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

	DisplayName, name string // of a column
	colored           bool   // a cell with a color
}

// A shownOverride changes properties of one field.
type shownOverride struct {
	Matcher    struct{ ID, Options string }
	Properties []struct {
		ID    string
		Value json.RawMessage
	}
}

// number returns the number of a sample, NaN if there is none.
func (s sample) number() float64 {
	text, _ := s[1].(string)
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return math.NaN()
}

// fields returns the columns of a table in their order.
func (p *panel) fields() (all []shownField) {
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID != "byName" {
			continue
		}
		f := p.FieldConfig.Defaults
		f.name, f.NoValue = o.Matcher.Options, ""
		for _, property := range o.Properties {
			var own shownField
			_ = json.Unmarshal(fmt.Appendf(nil, "{%q: %s}", property.ID, property.Value), &own) // if it has the property
			f.DisplayName, f.Unit = cmp.Or(own.DisplayName, f.DisplayName), cmp.Or(own.Unit, f.Unit)
			f.colored = f.colored || property.ID == "custom.cellOptions"
			if property.ID == "mappings" {
				f.Mappings = own.Mappings
			}
			if property.ID == "thresholds" {
				f.Thresholds = own.Thresholds
			}
		}
		all = append(all, f)
	}
	return all
}

// cell shows a word or a number in a table. Cells without options have no color.
func (f shownField) cell(of any) shownValue {
	v := f.show(math.NaN())
	switch x := of.(type) {
	case float64:
		v = f.show(x)
	case string:
		text, color, _ := f.mapped(x, math.NaN(), false)
		v = shownValue{text: cmp.Or(text, x), color: color}
	}
	if !f.colored && !v.missing {
		v.color = ""
	}
	return v
}

// show shows a number: by a mapping, or by its unit and the thresholds. A missing one has the color of the first step.
func (f shownField) show(x float64) shownValue {
	v := shownValue{missing: math.IsNaN(x)}
	var ok bool
	if v.text, v.color, ok = f.mapped(strconv.FormatFloat(x, 'f', -1, 64), x, v.missing); ok {
		return v
	}
	if v.text = f.format(x); v.missing {
		v.text, x = f.NoValue, math.Inf(-1)
	}
	for _, s := range f.Thresholds.Steps {
		if s.Value == nil || x >= *s.Value {
			v.color = s.Color
		}
	}
	return v
}

// mapped returns the text and the color of the first mapping for a value.
func (f shownField) mapped(word string, x float64, missing bool) (text, color string, ok bool) {
	type result struct{ Text, Color string }
	for _, m := range f.Mappings {
		var words map[string]result
		var other struct {
			From   float64
			Result result
		}
		_, _ = json.Unmarshal(m.Options, &words), json.Unmarshal(m.Options, &other)
		if m.Type == "special" && missing || m.Type == "range" && x >= other.From {
			return other.Result.Text, other.Result.Color, true
		}
		if r, found := words[word]; found {
			return r.Text, r.Color, true
		}
	}
	return "", "", false
}

// format writes a number with its unit, about as Grafana does.
func (f shownField) format(x float64) string {
	unit := strings.NewReplacer("percentunit", "%", "reqps", " req/s", "short", "", "suffix:", "").Replace(f.Unit)
	if unit == "%" {
		x *= 100
	}
	if f.Decimals != nil {
		return strconv.FormatFloat(x, 'f', *f.Decimals, 64) + unit
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + unit
}
