package grafana

import "strings"

// Variable is a drop-down list at the top of a dashboard. Use [Datasource], [Query], [Text] or
// [Several] to make one.
type Variable struct {
	Name        string
	Label       string
	Description string
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

// Optional returns a variable for a label that may be missing. All of its values include none.
func Optional(name, label, description, selector string) Variable {
	v := Query(name, label, description, selector, name)
	v.of["allValue"] = ".*"
	return v
}

// Text returns a variable that users type, a regular expression. It asks Prometheus for nothing. The default is all values.
func Text(name, label, description string) Variable {
	const all = ".*"
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "textbox", "query": all, "current": object{"selected": true, "text": all, "value": all},
		"options": []object{{"selected": true, "text": all, "value": all}},
	}}
}

// Several returns a variable with fixed values, of which users select any number. The default is all of them, and others.
func Several(name, label, description string, values ...string) Variable {
	options := []object{{"selected": true, "text": "All", "value": "$__all"}}
	for _, v := range values {
		options = append(options, object{"selected": false, "text": v, "value": v})
	}
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "custom", "query": strings.Join(values, ","), "multi": true, "includeAll": true, "allValue": ".+",
		"options": options, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}}
}

func (v Variable) object() object {
	o := object{"name": v.Name, "label": v.Label, "description": v.Description, "hide": 0, "skipUrlSync": false}
	for key, value := range v.of {
		o[key] = value
	}
	return o
}
