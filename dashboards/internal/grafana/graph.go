package grafana

// Graph shows how values came to be.
type Graph struct {
	Stacked    bool
	Thresholds bool // the steps are drawn as lines
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
