package grafana

// Color is the color of a series, in all panels the same, because it means something.
type Color struct {
	Series string // as the legend names it
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

// override changes the properties of one field.
func override(field string, properties ...object) object {
	return object{"matcher": object{"id": "byName", "options": field}, "properties": properties}
}

func property(id string, value any) object { return object{"id": id, "value": value} }

func (p Panel) overrides() []object {
	return append(each(p.Colors, Color.override), each(p.Columns, Column.override)...)
}
