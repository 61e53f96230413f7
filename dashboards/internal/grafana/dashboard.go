package grafana

import (
	"bytes"
	"encoding/json"
)

// schemaVersion is the version of the JSON format. Grafana 10.3 and later read it.
const schemaVersion = 39

// object is a JSON object. Its keys are written in order, so equal dashboards are equal texts.
type object = map[string]any

// Dashboard describes one dashboard.
type Dashboard struct {
	UID         string // in every link to the dashboard, so it never changes
	Title       string
	Description string
	Tags        []string
	Variables   []Variable
	Annotations []Annotation
	Links       []Link
	Rows        []Row
}

// JSON returns the dashboard in the format of Grafana.
func (d Dashboard) JSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // keeps > and & readable
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
		"links":                objects(d.Links, Link.object),
		"liveNow":              false,
		"panels":               layoutRows(d.Rows),
		"refresh":              "30s",
		"schemaVersion":        schemaVersion,
		"tags":                 d.Tags,
		"templating":           object{"list": objects(d.Variables, Variable.object)},
		"time":                 object{"from": "now-1h", "to": "now"},
		"timepicker":           object{},
		"timezone":             "browser",
		"title":                d.Title,
		"uid":                  d.UID,
		"weekStart":            "",
	}
}

// objects returns the JSON of each element. The result is never nil, which would be null in JSON.
func objects[T any](things []T, of func(T) object) []object {
	list := make([]object, 0, len(things))
	for _, thing := range things {
		list = append(list, of(thing))
	}
	return list
}

// columns is the width of a dashboard.
const columns = 24

// Row is a heading and the panels below it.
type Row struct {
	Title     string
	Collapsed bool // no queries until a user opens it
	Height    int  // of each panel, in grid units
	Panels    []Panel
}

// layout assigns ids and positions, from left to right and from top to bottom.
type layout struct {
	id, x, y int
}

// layoutRows returns all rows and panels with their ids and positions.
func layoutRows(rows []Row) []object {
	var l layout
	var placed []object
	for _, row := range rows {
		heading := l.heading(row)
		var panels []object
		for _, panel := range row.Panels {
			panels = append(panels, l.panel(panel, row.Height))
		}
		if row.Collapsed {
			heading["panels"] = panels
			placed = append(placed, heading)
			l.x, l.y = 0, heading["gridPos"].(object)["y"].(int)+1
			continue
		}
		placed = append(append(placed, heading), panels...)
		l.newLine(row.Height)
	}
	return placed
}

func (l *layout) heading(row Row) object {
	o := object{
		"type": "row", "title": row.Title, "collapsed": row.Collapsed, "panels": []object{},
		"id": l.next(), "gridPos": object{"h": 1, "w": columns, "x": 0, "y": l.y},
	}
	l.y++
	return o
}

func (l *layout) panel(panel Panel, height int) object {
	if l.x+panel.Width > columns {
		l.newLine(height)
	}
	o := panel.object()
	o["id"] = l.next()
	o["gridPos"] = object{"h": height, "w": panel.Width, "x": l.x, "y": l.y}
	l.x += panel.Width
	return o
}

// newLine ends the current line of panels, if there is one.
func (l *layout) newLine(height int) {
	if l.x > 0 {
		l.x, l.y = 0, l.y+height
	}
}

func (l *layout) next() int {
	l.id++
	return l.id
}

// Annotation marks on every graph when a query had a result.
type Annotation struct {
	Name  string
	Query string
	Title string // of each mark; {{label}} is replaced
	Text  string
	Color string
}

// annotations returns the annotations, after the one that Grafana has on every dashboard.
func annotations(of []Annotation) []object {
	return append([]object{{
		"builtIn": 1, "datasource": object{"type": "grafana", "uid": "-- Grafana --"}, "enable": true, "hide": true,
		"iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
	}}, objects(of, Annotation.object)...)
}

func (a Annotation) object() object {
	return object{
		"datasource": prometheus(), "enable": true, "hide": false, "iconColor": a.Color, "name": a.Name,
		"expr": a.Query, "step": "", "titleFormat": a.Title, "textFormat": a.Text, "tagKeys": "", "useValueForTime": false,
	}
}

// Link is a link of a dashboard, a panel or a value.
type Link struct {
	Title  string
	URL    string
	Tag    string // if set: a menu of all dashboards with this tag, and no URL
	NewTab bool   // opens in a new tab
}

// object returns the link for the top of a dashboard.
func (l Link) object() object {
	o := object{
		"title": l.Title, "tooltip": "", "targetBlank": l.NewTab, "includeVars": l.Tag != "", "keepTime": l.Tag != "",
		"asDropdown": l.Tag != "", "tags": []string{}, "type": "link", "url": l.URL, "icon": "doc",
	}
	if l.Tag != "" {
		o["type"], o["tags"], o["icon"] = "dashboards", []string{l.Tag}, "external link"
	}
	return o
}

// panelLink returns the link for a panel or a value.
func (l Link) panelLink() object {
	return object{"title": l.Title, "url": l.URL, "targetBlank": l.NewTab}
}
