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

// lastValue makes one number of a series: the last one.
func lastValue() object {
	return object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
}
