package grafana

// Stat shows one number. It has no graph behind the number, which would be hard to read.
type Stat struct {
	Named bool // shows the legend of the series too
}

func (Stat) kind() string   { return "stat" }
func (Stat) custom() object { return nil }

func (s Stat) options() object {
	text := "value"
	if s.Named {
		text = "value_and_name"
	}
	return object{
		"colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto", "textMode": text,
		"wideLayout": false, "percentChangeColorMode": "standard", "showPercentChange": false, "reduceOptions": lastValue(),
	}
}

func lastValue() object {
	return object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
}

// Bars shows a bar for each series.
type Bars struct{}

func (Bars) kind() string   { return "bargauge" }
func (Bars) custom() object { return nil }

func (Bars) options() object {
	return object{
		"displayMode": "basic", "orientation": "horizontal", "showUnfilled": true, "valueMode": "color", "namePlacement": "auto",
		"sizing": "auto", "minVizHeight": 16, "minVizWidth": 8, "maxVizHeight": 300, "reduceOptions": lastValue(),
		"legend": object{"showLegend": false, "displayMode": "list", "placement": "bottom", "calcs": []string{}},
	}
}

// Graph shows values over time.
type Graph struct {
	Stacked    bool
	Thresholds bool // draws the steps as lines
	Log        bool // the axis is logarithmic
	InOrder    bool // the legend has the order of the result, and not the largest first
	Short      bool // the legend is a list of names: for more series than a table has room
}

func (Graph) kind() string { return "timeseries" }

func (g Graph) options() object {
	legend := object{
		"showLegend": true, "displayMode": "table", "placement": "bottom", "calcs": []string{"max", "last"}, // a mean is of no phase of an incident
	}
	switch {
	case g.Short:
		legend["displayMode"], legend["calcs"] = "list", []string{}
	case !g.InOrder:
		legend["sortBy"], legend["sortDesc"] = "Max", true
	}
	return object{
		"legend":  legend,
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
}

func (g Graph) custom() object {
	fill, stacking, lines := 0, "none", "off" // several fills together are gray
	if g.Stacked {
		fill, stacking = 40, "normal"
	}
	if g.Thresholds {
		lines = "line"
	}
	scale := object{"type": "linear"}
	if g.Log {
		scale = object{"type": "log", "log": 10}
	}
	return object{
		"axisBorderShow": false, "axisCenteredZero": false, "axisColorMode": "text", "axisLabel": "", "axisPlacement": "auto",
		"barAlignment": 0, "drawStyle": "line", "fillOpacity": fill, "gradientMode": "none", "insertNulls": false,
		"hideFrom":          object{"legend": false, "tooltip": false, "viz": false},
		"lineInterpolation": "linear", "lineWidth": 1, "pointSize": 5, "scaleDistribution": scale,
		"showPoints": "never", "spanNulls": false, "stacking": object{"group": "A", "mode": stacking},
		"thresholdsStyle": object{"mode": lines},
	}
}

// Table shows a row for each set of labels, and a column for each label and each query.
type Table struct {
	SortBy []Sort
}

// Sort is a column by which a table is sorted.
type Sort struct {
	Title     string
	Ascending bool // smallest first
}

func (s Sort) object() object { return object{"displayName": s.Title, "desc": !s.Ascending} }

// Column is a column of a table: a label or the value of a query. With several queries their fields
// are "Value #A", "Value #B" and so on.
type Column struct {
	Field  string
	Expr   string // for programs that make a target of each column; a panel ignores it
	Title  string
	Unit   string
	Width  int    // in pixels; 0: the space that is left
	Steps  []Step // background color of a cell
	Words  []Mapping
	Hidden bool
	Links  []Link // of each cell
}

func (Table) kind() string { return "table" }

func (t Table) options() object {
	return object{
		"cellHeight": "sm", "showHeader": true, "sortBy": objects(t.SortBy, Sort.object),
		"footer": object{"show": false, "countRows": false, "fields": "", "reducer": []string{"sum"}},
	}
}

func (Table) custom() object {
	return object{"align": "auto", "cellOptions": object{"type": "auto"}, "filterable": false, "inspect": false}
}

func (c Column) override() object {
	if c.Hidden { // links of the row can use it
		return override(c.Field, property("custom.hidden", true))
	}
	properties := []object{property("displayName", c.Title)}
	if c.Unit != "" {
		properties = append(properties, property("unit", c.Unit))
	}
	if c.Width > 0 {
		properties = append(properties, property("custom.width", c.Width))
	}
	if len(c.Steps) > 0 {
		properties = append(properties, property("thresholds", thresholds(c.Steps)),
			property("custom.cellOptions", object{"type": "color-background", "mode": "basic"}))
	}
	if len(c.Words) > 0 {
		properties = append(properties, property("mappings", mappings(append(c.Words, emptyCell()))))
	}
	if len(c.Words) > 0 && len(c.Steps) == 0 {
		properties = append(properties, property("custom.cellOptions", object{"type": "color-text"}))
	}
	if len(c.Links) > 0 {
		properties = append(properties, property("links", objects(c.Links, Link.panelLink)))
	}
	return override(c.Field, properties...)
}

// transformations merges the results of all queries into one table, with the columns in the order
// of p.Columns.
func (p Panel) transformations() []object {
	if _, ok := p.View.(Table); !ok {
		return nil
	}
	order := object{}
	for i, c := range p.Columns {
		order[c.Field] = i
	}
	return []object{
		{"id": "merge", "options": object{}},
		{"id": "organize", "options": object{"excludeByName": object{"Time": true}, "indexByName": order, "renameByName": object{}}},
	}
}
