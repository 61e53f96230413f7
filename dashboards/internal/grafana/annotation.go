package grafana

// Annotation marks on every graph when a query had a result.
type Annotation struct {
	Name  string
	Query string
	Title string // of each mark; may name labels as {{label}}
	Text  string
	Color string
}

// annotations returns the annotations, after the one that Grafana itself keeps on every dashboard.
func annotations(of []Annotation) []object {
	return append([]object{{
		"builtIn": 1, "datasource": object{"type": "grafana", "uid": "-- Grafana --"}, "enable": true, "hide": true,
		"iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
	}}, each(of, Annotation.object)...)
}

func (a Annotation) object() object {
	return object{
		"datasource": prometheus(), "enable": true, "hide": false, "iconColor": a.Color, "name": a.Name,
		"expr": a.Query, "step": "", "titleFormat": a.Title, "textFormat": a.Text, "tagKeys": "", "useValueForTime": false,
	}
}
