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
	return flat(text.Bytes()), err
}

// flatFrom is the indentation from which on a value is on one line: a line is a field of a panel. So a
// change of a panel is still a small diff, and a file fits into a ConfigMap.
const flatFrom = 6

// flat joins the lines of a JSON text that are indented deeper.
func flat(text []byte) []byte {
	var out bytes.Buffer
	joined := true
	for line := range bytes.Lines(text) {
		word := bytes.TrimLeft(line, " ")
		deeper := len(line)-len(word) > flatFrom
		closes := joined && (word[0] == ']' || word[0] == '}')
		switch {
		case !deeper && !closes:
			out.WriteByte('\n')
			word = line
		case !closes && !bytes.ContainsAny(out.Bytes()[out.Len()-1:], "[{"):
			out.WriteByte(' ')
		}
		out.Write(bytes.TrimRight(word, "\n"))
		joined = deeper
	}
	return append(bytes.TrimLeft(out.Bytes(), "\n"), '\n')
}

func (d Dashboard) object() object {
	panels, ids := layoutRows(d.Rows)
	return object{
		"annotations":          object{"list": annotations(d.Annotations, ids)},
		"description":          d.Description,
		"editable":             false,
		"fiscalYearStartMonth": 0,
		"graphTooltip":         1, // one crosshair for all panels
		"links":                objects(d.Links, Link.object),
		"liveNow":              false,
		"panels":               panels,
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
	Title     string // "": the panels have no heading
	Collapsed bool   // no queries until a user opens it
	Height    int    // of each panel, in grid units
	Panels    []Panel
}

// layout assigns ids and positions, from left to right and from top to bottom.
type layout struct {
	id, x, y int
	ids      map[string]int // of panels by title
}

func layoutRows(rows []Row) (placed []object, ids map[string]int) {
	l := layout{ids: map[string]int{}}
	for _, row := range rows {
		var heading object
		if row.Title != "" {
			heading = l.heading(row)
			placed = append(placed, heading)
		}
		var panels []object
		for _, panel := range row.Panels {
			panels = append(panels, l.panel(panel, row.Height))
		}
		if row.Collapsed {
			heading["panels"] = panels
			l.x, l.y = 0, heading["gridPos"].(object)["y"].(int)+1
			continue
		}
		placed = append(placed, panels...)
		l.newLine(row.Height)
	}
	return placed, l.ids
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
	l.ids[panel.Title] = l.id
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

// Annotation marks moments in some graphs. The values of its query are the moments, in
// milliseconds. A query for states would make Grafana fill the graphs while it has a result.
type Annotation struct {
	Name   string
	Query  string
	Title  string // of each mark; {{label}} is replaced
	Text   string
	Color  string
	Panels []string // titles of the graphs
}

func annotations(of []Annotation, ids map[string]int) []object {
	all := []object{{
		"builtIn": 1, "datasource": object{"type": "grafana", "uid": "-- Grafana --"}, "enable": true, "hide": true,
		"iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
	}}
	for _, a := range of {
		all = append(all, a.object(ids))
	}
	return all
}

func (a Annotation) object(ids map[string]int) object {
	panels := make([]int, 0, len(a.Panels))
	for _, title := range a.Panels {
		panels = append(panels, ids[title])
	}
	return object{
		"filter":     object{"exclude": false, "ids": panels},
		"datasource": prometheus(), "enable": true, "hide": true, "iconColor": a.Color, "name": a.Name,
		"expr": a.Query, "step": "", "titleFormat": a.Title, "textFormat": a.Text, "tagKeys": "", "useValueForTime": true,
	}
}

// Link is a link of a dashboard, a panel or a value.
type Link struct {
	Title  string
	URL    string
	NewTab bool // opens in a new tab
}

// object returns the link for the top of a dashboard.
func (l Link) object() object {
	icon := "dashboard"
	if l.NewTab {
		icon = "doc"
	}
	return object{
		"title": l.Title, "tooltip": "", "targetBlank": l.NewTab, "includeVars": false, "keepTime": !l.NewTab,
		"asDropdown": false, "tags": []string{}, "type": "link", "url": l.URL, "icon": icon,
	}
}

func (l Link) panelLink() object {
	return object{"title": l.Title, "url": l.URL, "targetBlank": l.NewTab}
}
