package grafana

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
