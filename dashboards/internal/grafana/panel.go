package grafana

// Panel is one panel: its queries and how it shows the results.
type Panel struct {
	Title       string
	Description string // what it shows, what is good, what to do
	Width       int    // in grid columns, of 24
	Unit        string
	Decimals    int  // 0: as many as fit
	Ratio       bool // from 0 to 1
	Signed      bool // may be below 0
	NoValue     string
	Steps       []Step // thresholds
	Colors      []Color
	Columns     []Column // of a [Table]
	Links       []Link
	Targets     []Target
	View        View
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
	targets := make([]object, 0, len(p.Targets))
	for i, t := range p.Targets {
		targets = append(targets, t.object(refID(i)))
	}
	o := object{
		"type": p.View.kind(), "title": p.Title, "description": p.Description, "datasource": prometheus(),
		"fieldConfig": object{"defaults": p.defaults(), "overrides": p.overrides()},
		"links":       objects(p.Links, Link.panelLink), "options": p.View.options(), "targets": targets,
	}
	if transformations := p.transformations(); len(transformations) > 0 {
		o["transformations"] = transformations
	}
	return o
}

func (p Panel) defaults() object {
	o := object{"unit": p.Unit, "color": object{"mode": p.colorMode()}, "mappings": []object{}, "thresholds": thresholds(p.Steps)}
	if !p.Signed {
		o["min"] = 0
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
	if custom := p.View.custom(); custom != nil {
		o["custom"] = custom
	}
	return o
}

// colorMode is by series in graphs, and by value in all other views.
func (p Panel) colorMode() string {
	if _, ok := p.View.(Graph); ok {
		return "palette-classic"
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
	Series string // its name in the legend
	Color  string
	Dashed bool
}

func (c Color) override() object {
	properties := []object{property("color", object{"mode": "fixed", "fixedColor": c.Color})}
	if c.Dashed {
		properties = append(properties, property("custom.lineStyle", object{"fill": "dash", "dash": []int{8, 6}}),
			property("custom.fillOpacity", 0))
	}
	return override(c.Series, properties...)
}

// override changes properties of one field.
func override(field string, properties ...object) object {
	return object{"matcher": object{"id": "byName", "options": field}, "properties": properties}
}

func property(id string, value any) object { return object{"id": id, "value": value} }

func (p Panel) overrides() []object {
	return append(objects(p.Colors, Color.override), objects(p.Columns, Column.override)...)
}

// Target is one query of a panel.
type Target struct {
	Expr      string
	Legend    string // {{label}} is replaced
	Instant   bool   // one value at the end of the time range
	Exemplars bool   // shows traces as dots in the graph
	Table     bool   // shows labels as columns
}

func (t Target) object(refID string) object {
	format := "time_series"
	if t.Table {
		format = "table"
	}
	return object{
		"datasource": prometheus(), "editorMode": "code", "exemplar": t.Exemplars, "expr": t.Expr, "format": format,
		"instant": t.Instant, "range": !t.Instant, "legendFormat": t.Legend, "refId": refID,
	}
}

// refID returns the id of the i-th query of a panel: A to Z.
func refID(i int) string { return string(rune('A' + i)) }

// DatasourceVariable is the name of the variable for the Prometheus data source. All queries use
// it: a dashboard with a fixed data source is empty in every other Grafana.
const DatasourceVariable = "datasource"

// prometheus returns the data source of all queries.
func prometheus() object {
	return object{"type": "prometheus", "uid": "${" + DatasourceVariable + "}"}
}
