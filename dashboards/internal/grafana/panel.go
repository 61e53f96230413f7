package grafana

import "strings"

// Panel is one panel: its queries and how it shows the results.
type Panel struct {
	Title       string
	Description string // what it shows, what is good, what to do
	Width       int    // in grid columns, of 24
	Unit        string
	Decimals    int  // 0: as many as fit
	Ratio       bool // from 0 to 1
	Min         float64
	NoValue     string // the text of an empty panel, and of a [Stat] without a number
	Mappings    []Mapping
	Steps       []Step // thresholds
	Colors      []Color
	Columns     []Column // of a [Table]
	Links       []Link   // of the panel; of a [Stat]: of its number
	Targets     []Target
	View        View // default: [Graph]
}

// View is how a panel shows its results: [Stat], [Graph], [Bars] or [Table].
type View interface {
	kind() string
	options() object
	custom() object // field options; nil: none
}

// Step is a threshold: the color from a value on.
type Step struct {
	From  float64 // ignored in the first step, which has no lower bound
	Color string
}

func (p Panel) object() object {
	if p.View == nil {
		p.View = Graph{}
	}
	targets := make([]object, 0, len(p.Targets))
	for i, t := range p.Targets {
		targets = append(targets, t.object(refID(i), p.View))
	}
	o := object{
		"type": p.View.kind(), "title": p.Title, "description": p.Description, "datasource": prometheus(),
		"fieldConfig": object{"defaults": p.defaults(), "overrides": p.overrides()},
		"options":     p.View.options(), "targets": targets,
	}
	if _, ok := p.View.(Stat); !ok {
		o["links"] = objects(p.Links, Link.panelLink)
	}
	if transformations := p.transformations(); len(transformations) > 0 {
		o["transformations"] = transformations
	}
	return o
}

func (p Panel) defaults() object {
	o := object{
		"unit": p.Unit, "color": object{"mode": p.colorMode()}, "mappings": p.mappings(), "thresholds": thresholds(p.Steps), "min": p.Min,
	}
	if p.Ratio {
		o["max"] = 1
	}
	if p.Decimals > 0 {
		o["decimals"] = p.Decimals
	}
	if p.NoValue != "" {
		o["noValue"] = p.NoValue
	}
	if _, ok := p.View.(Stat); ok && len(p.Links) > 0 {
		o["links"] = objects(p.Links, Link.panelLink)
	}
	if custom := p.View.custom(); custom != nil {
		o["custom"] = custom
	}
	return o
}

// mappings returns the mappings of the panel and the one for missing numbers. Without it a missing
// number has the color of the first threshold, which is often green.
func (p Panel) mappings() []object {
	switch p.View.(type) {
	case Stat, Bars:
		return mappings(append(p.Mappings, Mapping{Missing: true, Text: p.NoValue, Color: "text"}))
	case Table:
		return mappings(append(p.Mappings, emptyCell()))
	}
	return mappings(p.Mappings)
}

// Mapping replaces a value by a text and a color.
type Mapping struct {
	Value   string  // the value, or:
	From    float64 // the least value, or:
	Missing bool    // null and NaN
	Text    string
	Color   string
}

// emptyCell keeps cells without a value without text and color.
func emptyCell() Mapping { return Mapping{Missing: true, Color: "transparent"} }

func mappings(of []Mapping) []object {
	all := make([]object, 0, len(of))
	for i, m := range of {
		all = append(all, m.object(i))
	}
	return all
}

func (m Mapping) object(index int) object {
	result := object{"text": m.Text, "color": m.Color, "index": index}
	switch {
	case m.Missing:
		return object{"type": "special", "options": object{"match": "null+nan", "result": result}}
	case m.Value != "":
		return object{"type": "value", "options": object{m.Value: result}}
	}
	return object{"type": "range", "options": object{"from": m.From, "to": nil, "result": result}}
}

// colorMode is by series in graphs, and by value in all other views.
func (p Panel) colorMode() string {
	if _, ok := p.View.(Graph); ok {
		return "palette-classic-by-name" // by the index, a series would be green as soon as it is chosen alone
	}
	return "thresholds"
}

// thresholds returns the steps. The first has no lower bound, which is null in JSON.
func thresholds(steps []Step) object {
	if len(steps) == 0 {
		steps = []Step{{Color: "text"}}
	}
	list := make([]object, 0, len(steps))
	for i, s := range steps {
		o := object{"color": s.Color, "value": s.From}
		if i == 0 {
			o["value"] = nil
		}
		list = append(list, o)
	}
	return object{"mode": "absolute", "steps": list}
}

// Color is the color of a series. It means the same in all panels.
type Color struct {
	Series string // its name in the legend, or a regular expression between slashes
	Color  string
	Dashed bool
	Steps  []Step // in place of a color: the series has thresholds of its own
}

func (c Color) override() object {
	if len(c.Steps) > 0 {
		return override(c.Series, property("thresholds", thresholds(c.Steps)))
	}
	properties := []object{property("color", object{"mode": "fixed", "fixedColor": c.Color})}
	if c.Dashed {
		properties = append(properties, property("custom.lineStyle", object{"fill": "dash", "dash": []int{8, 6}}),
			property("custom.fillOpacity", 0))
	}
	return override(c.Series, properties...)
}

// override changes properties of one field, or of those that a regular expression between slashes
// matches.
func override(field string, properties ...object) object {
	id := "byName"
	if strings.HasPrefix(field, "/") {
		id = "byRegexp"
	}
	return object{"matcher": object{"id": id, "options": field}, "properties": properties}
}

func property(id string, value any) object { return object{"id": id, "value": value} }

func (p Panel) overrides() []object {
	all := objects(p.Colors, Color.override)
	for _, c := range p.Columns {
		all = append(all, c.override())
	}
	if _, ok := p.View.(Table); ok { // the text is for an empty table, and not for its empty cells
		all = append(all, override("/.*/", property("noValue", "")))
	}
	return all
}

// Target is one query of a panel. A [Graph] asks for a time range, and all other views for the values at its end.
type Target struct {
	Expr      string
	Legend    string // {{label}} is replaced
	Exemplars bool   // shows traces as dots in the graph
}

func (t Target) object(refID string, of View) object {
	format := "time_series"
	if _, ok := of.(Table); ok { // with labels as columns
		format = "table"
	}
	_, overTime := of.(Graph)
	return object{
		"datasource": prometheus(), "editorMode": "code", "exemplar": t.Exemplars, "expr": t.Expr, "format": format,
		"instant": !overTime, "range": overTime, "legendFormat": t.Legend, "refId": refID,
	}
}

// refID returns the id of the i-th query of a panel: A to Z.
func refID(i int) string { return string(rune('A' + i)) }

// DatasourceVariable is the name of the variable for the Prometheus data source. All queries use
// it: a dashboard with a fixed data source is empty in every other Grafana.
const DatasourceVariable = "datasource"

func prometheus() object {
	return object{"type": "prometheus", "uid": "${" + DatasourceVariable + "}"}
}
