package grafana

// Target is one query of a panel.
type Target struct {
	Expr      string
	Legend    string // may name labels as {{label}}
	Instant   bool   // what is true now, not how it came to be
	Exemplars bool   // traces as dots in the graph
	Table     bool   // labels as columns
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

// refID returns the name of a panel's query: A to Z.
func refID(i int) string { return string(rune('A' + i)) }
