package grafana

import "strings"

// Variable is a drop-down list at the top of a dashboard. Use [Datasource], [Query] or [Choice] to
// make one.
type Variable struct {
	Name        string
	Label       string
	Description string
	Hidden      bool
	of          object // properties of its type
}

// Datasource returns the variable for the Prometheus data source.
func Datasource() Variable {
	return Variable{Name: DatasourceVariable, Label: "Data source", Description: "The Prometheus with the metrics.", of: object{
		"type": "datasource", "query": "prometheus", "regex": "", "multi": false, "includeAll": false,
		"refresh": 1, "options": []object{}, "current": object{},
	}}
}

// Query returns a variable whose values are those of a label. Users may select several; the default
// is all of them.
func Query(name, label, description, selector, of string) Variable {
	query := "label_values(" + selector + ", " + of + ")"
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "query", "datasource": prometheus(), "definition": query,
		"query":   object{"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
		"refresh": 2, // again when the time range changes
		"multi":   true, "includeAll": true, "allValue": ".+", "sort": 1, "regex": "",
		"options": []object{}, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}}
}

// Optional returns a variable for a label that may be missing. It is hidden until its "hide" is
// set to 0. A link may choose a value of it all the same.
func Optional(name, label, description, selector string) Variable {
	v := Query(name, label, description, selector, name)
	v.Hidden, v.of["allValue"] = true, ".*"
	return v
}

// Choice returns a variable with fixed values, of which users select one. The arguments are pairs
// of text and value. The default is the first.
func Choice(name, label, description string, texts ...string) Variable {
	var options []object
	var pairs []string
	for i := 0; i+1 < len(texts); i += 2 {
		options = append(options, object{"selected": i == 0, "text": texts[i], "value": texts[i+1]})
		pairs = append(pairs, texts[i]+" : "+texts[i+1])
	}
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "custom", "query": strings.Join(pairs, ", "), "multi": false, "includeAll": false,
		"options": options, "current": options[0],
	}}
}

func (v Variable) object() object {
	hide := 0
	if v.Hidden {
		hide = 2
	}
	o := object{"name": v.Name, "label": v.Label, "description": v.Description, "hide": hide, "skipUrlSync": false}
	for key, value := range v.of {
		o[key] = value
	}
	return o
}
