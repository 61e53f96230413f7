package grafana

import "strings"

// Variable is something that people choose at the top of a dashboard. Make one with [Datasource], [Query] or [Choice].
type Variable struct {
	Name        string
	Label       string
	Description string
	of          object // what its type adds
}

// Datasource returns the variable that says which Prometheus is asked.
func Datasource() Variable {
	return Variable{Name: DatasourceVariable, Label: "Data source", Description: "The Prometheus that is asked.", of: object{
		"type": "datasource", "query": "prometheus", "regex": "", "multi": false, "includeAll": false,
		"refresh": 1, "options": []object{}, "current": object{},
	}}
}

// Query returns a variable whose values are those of a label, any number of which can be chosen; all of them are at first.
func Query(name, label, description, selector, of string) Variable {
	query := "label_values(" + selector + ", " + of + ")"
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "query", "datasource": prometheus(), "definition": query,
		"query":   object{"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
		"refresh": 2, // whenever the time changes: what runs today is not what ran last week
		"multi":   true, "includeAll": true, "allValue": ".+", "sort": 1, "regex": "",
		"options": []object{}, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}}
}

// Choice returns a variable with fixed values of which one is chosen. Values are given as text and value, one after the other; the
// first is chosen at first.
func Choice(name, label, description string, texts ...string) Variable {
	var options []object
	var words []string
	for i := 0; i+1 < len(texts); i += 2 {
		options = append(options, object{"selected": i == 0, "text": texts[i], "value": texts[i+1]})
		words = append(words, texts[i]+" : "+texts[i+1])
	}
	return Variable{Name: name, Label: label, Description: description, of: object{
		"type": "custom", "query": strings.Join(words, ", "), "multi": false, "includeAll": false,
		"options": options, "current": options[0],
	}}
}

func (v Variable) object() object {
	o := object{"name": v.Name, "label": v.Label, "description": v.Description, "hide": 0, "skipUrlSync": false}
	for key, value := range v.of {
		o[key] = value
	}
	return o
}
