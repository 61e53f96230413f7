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

// columns is how many columns a dashboard is wide.
const columns = 24

// Row is a heading and the panels below it.
type Row struct {
	Title     string
	Collapsed bool // its panels ask nothing until somebody opens it
	Height    int  // of each panel
	Panels    []Panel
}

// placer gives everything its number and its place, from left to right and from the top down.
type placer struct {
	id, x, y int
}

// place returns all rows and panels, where Grafana looks for them.
func place(rows []Row) []object {
	var p placer
	var placed []object
	for _, row := range rows {
		heading := p.heading(row)
		var panels []object
		for _, panel := range row.Panels {
			panels = append(panels, p.panel(panel, row.Height))
		}
		if row.Collapsed {
			heading["panels"] = panels
			placed = append(placed, heading)
			p.x, p.y = 0, heading["gridPos"].(object)["y"].(int)+1
			continue
		}
		placed = append(append(placed, heading), panels...)
		p.newLine(row.Height)
	}
	return placed
}

func (p *placer) heading(row Row) object {
	o := object{
		"type": "row", "title": row.Title, "collapsed": row.Collapsed, "panels": []object{},
		"id": p.next(), "gridPos": object{"h": 1, "w": columns, "x": 0, "y": p.y},
	}
	p.y++
	return o
}

func (p *placer) panel(panel Panel, height int) object {
	if p.x+panel.Width > columns {
		p.newLine(height)
	}
	o := panel.object()
	o["id"] = p.next()
	o["gridPos"] = object{"h": height, "w": panel.Width, "x": p.x, "y": p.y}
	p.x += panel.Width
	return o
}

// newLine ends a line of panels, if one has begun.
func (p *placer) newLine(height int) {
	if p.x > 0 {
		p.x, p.y = 0, p.y+height
	}
}

func (p *placer) next() int {
	p.id++
	return p.id
}

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

// Link leads from a dashboard, a panel or a value to somewhere else.
type Link struct {
	Title string
	URL   string
	Tag   string // instead of a URL: a menu of all dashboards with this tag
	Away  bool   // to another site, in a tab of its own
}

// object returns the link as it stands at the top of a dashboard.
func (l Link) object() object {
	o := object{
		"title": l.Title, "tooltip": "", "targetBlank": l.Away, "includeVars": l.Tag != "", "keepTime": l.Tag != "",
		"asDropdown": l.Tag != "", "tags": []string{}, "type": "link", "url": l.URL, "icon": "doc",
	}
	if l.Tag != "" {
		o["type"], o["tags"], o["icon"] = "dashboards", []string{l.Tag}, "external link"
	}
	return o
}

// small returns the link as it stands at a panel or a value.
func (l Link) small() object {
	return object{"title": l.Title, "url": l.URL, "targetBlank": l.Away}
}
