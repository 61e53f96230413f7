package grafana

import (
	"bytes"
	"encoding/json"
)

// schemaVersion is the form of the JSON. Later versions of Grafana know it; earlier ones than 10.3 need not.
const schemaVersion = 39

// object is a JSON object. Its keys are written in order, so the same dashboard is always the same text.
type object = map[string]any

// Dashboard is one dashboard.
type Dashboard struct {
	UID         string // in every link to it, so it never changes
	Title       string
	Description string
	Tags        []string
	Variables   []Variable
	Annotations []Annotation
	Links       []Link
	Rows        []Row
}

// JSON returns the dashboard as Grafana reads it.
func (d Dashboard) JSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // people read it too
	encoder.SetIndent("", "  ")
	err := encoder.Encode(d.object())
	return text.Bytes(), err
}

func (d Dashboard) object() object {
	return object{
		"annotations":          object{"list": annotations(d.Annotations)},
		"description":          d.Description,
		"editable":             false,
		"fiscalYearStartMonth": 0,
		"graphTooltip":         1, // one crosshair for all panels
		"links":                each(d.Links, Link.object),
		"liveNow":              false,
		"panels":               place(d.Rows),
		"refresh":              "30s",
		"schemaVersion":        schemaVersion,
		"tags":                 d.Tags,
		"templating":           object{"list": each(d.Variables, Variable.object)},
		"time":                 object{"from": "now-1h", "to": "now"},
		"timepicker":           object{},
		"timezone":             "browser",
		"title":                d.Title,
		"uid":                  d.UID,
		"weekStart":            "",
	}
}

// each returns the JSON of each thing, as a list that is never null.
func each[T any](things []T, of func(T) object) []object {
	list := make([]object, 0, len(things))
	for _, thing := range things {
		list = append(list, of(thing))
	}
	return list
}
