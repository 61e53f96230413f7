package grafana

// Stat shows one number.
type Stat struct {
	Sparkline bool
}

func (Stat) kind() string   { return "stat" }
func (Stat) custom() object { return nil }

func (s Stat) options() object {
	graph := "none"
	if s.Sparkline {
		graph = "area"
	}
	return object{
		"colorMode": "value", "graphMode": graph, "justifyMode": "auto", "orientation": "auto", "textMode": "auto",
		"wideLayout": true, "percentChangeColorMode": "standard", "showPercentChange": false, "reduceOptions": lastValue(),
	}
}

// lastValue reduces a series to its last value.
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
}

func (Graph) kind() string { return "timeseries" }

func (Graph) options() object {
	return object{
		"legend": object{
			"showLegend": true, "displayMode": "table", "placement": "bottom",
			"calcs": []string{"mean", "max", "lastNotNull"}, "sortBy": "Max", "sortDesc": true,
		},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
}

func (g Graph) custom() object {
	fill, stacking, lines := 8, "none", "off"
	if g.Stacked {
		fill, stacking = 40, "normal"
	}
	if g.Thresholds {
		lines = "line"
	}
	return object{
		"axisBorderShow": false, "axisCenteredZero": false, "axisColorMode": "text", "axisLabel": "", "axisPlacement": "auto",
		"barAlignment": 0, "drawStyle": "line", "fillOpacity": fill, "gradientMode": "none", "insertNulls": false,
		"hideFrom":          object{"legend": false, "tooltip": false, "viz": false},
		"lineInterpolation": "linear", "lineWidth": 1, "pointSize": 5, "scaleDistribution": object{"type": "linear"},
		"showPoints": "never", "spanNulls": false, "stacking": object{"group": "A", "mode": stacking},
		"thresholdsStyle": object{"mode": lines},
	}
}

// Table shows a row for each set of labels, and a column for each label and each query.
type Table struct {
	SortBy    string // title of a column; largest first
	Ascending bool   // smallest first
}

// Column is a column of a table: a label or the value of a query. With several queries their fields
// are "Value #A", "Value #B" and so on.
type Column struct {
	Field  string
	Title  string
	Unit   string
	Width  int    // in pixels; 0: the space that is left
	Steps  []Step // background color of a cell
	Hidden bool
	Links  []Link // of each cell
}

func (Table) kind() string { return "table" }

func (t Table) options() object {
	return object{
		"cellHeight": "sm", "showHeader": true, "sortBy": []object{{"displayName": t.SortBy, "desc": !t.Ascending}},
		"footer": object{"show": false, "countRows": false, "fields": "", "reducer": []string{"sum"}},
	}
}

func (Table) custom() object {
	return object{"align": "auto", "cellOptions": object{"type": "auto"}, "filterable": false, "inspect": false}
}

func (c Column) override() object {
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
	order, hidden := object{}, object{"Time": true}
	for i, c := range p.Columns {
		order[c.Field] = i
		if c.Hidden {
			hidden[c.Field] = true
		}
	}
	return []object{
		{"id": "merge", "options": object{}},
		{"id": "organize", "options": object{"excludeByName": hidden, "indexByName": order, "renameByName": object{}}},
	}
}
