package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// resourceVersion is the API version of dashboards with tabs.
const resourceVersion = "dashboard.grafana.app/v2beta1"

// Resource returns the dashboard as a resource of the schema v2, for Grafana 12.3 and later. The
// rows that are open are its first tab, and each collapsed row is a tab of its own.
func (d Dashboard) Resource() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"apiVersion": resourceVersion, "kind": "Dashboard", "metadata": object{"name": d.UID}, "spec": d.spec(),
	})
	return text.Bytes(), err
}

// kind wraps the fields of a part, as the schema v2 does for each of them.
func kind(name string, spec object) object { return object{"kind": name, "spec": spec} }

func (d Dashboard) spec() object {
	_, ids := layoutRows(d.Rows)
	elements := object{}
	for _, row := range d.Rows {
		for _, p := range row.Panels {
			elements[elementName(ids[p.Title])] = p.element(ids[p.Title])
		}
	}
	variables := append(objects(d.Variables, Variable.kind), objects(d.uses(), Use.variable)...)
	return object{
		"annotations": d.annotationKinds(ids), "cursorSync": "Crosshair", "description": d.Description, "editable": false,
		"elements": elements, "layout": tabs(d.Rows, ids), "links": objects(d.Links, Link.object), "liveNow": false,
		"preload": false, "tags": d.Tags, "title": d.Title, "variables": variables,
		"timeSettings": object{
			"timezone": "browser", "from": "now-1h", "to": "now", "autoRefresh": "30s", "autoRefreshIntervals": []string{"5s", "30s", "1m", "5m"},
			"hideTimepicker": false, "fiscalYearStartMonth": 0,
		},
	}
}

// Use is a series that exists while a system is in use. A row with one vanishes without it.
type Use struct {
	Name     string // of a hidden variable
	Selector string
	Label    string
}

// uses returns those of the rows.
func (d Dashboard) uses() (all []Use) {
	for _, row := range d.Rows {
		if row.While.Name != "" {
			all = append(all, row.While)
		}
	}
	return all
}

// variable has the first value of the label, or none.
func (u Use) variable() object {
	v := Query(u.Name, u.Name, "Set while the system is in use.", u.Selector, u.Label)
	v.Hidden, v.of["includeAll"], v.of["multi"], v.of["current"] = true, false, false, object{"text": "", "value": ""}
	delete(v.of, "allValue")
	return v.kind()
}

// condition shows a row while its system is in use.
func (u Use) condition() object {
	return kind("ConditionalRenderingGroup", object{"visibility": "show", "condition": "and", "items": []object{
		kind("ConditionalRenderingVariable", object{"variable": u.Name, "operator": "notEquals", "value": ""}),
	}})
}

func elementName(id int) string { return fmt.Sprintf("panel-%d", id) }

// tabs returns the layout.
func tabs(rows []Row, ids map[string]int) object {
	var open, all []object
	for _, row := range rows {
		if row.Collapsed {
			all = append(all, tab(row.Title, []object{row.kind(ids)}))
		} else {
			open = append(open, row.kind(ids))
		}
	}
	return kind("TabsLayout", object{"tabs": append([]object{tab("Now", open)}, all...)})
}

func tab(title string, rows []object) object {
	return kind("TabsLayoutTab", object{"title": title, "layout": kind("RowsLayout", object{"rows": rows})})
}

func (row Row) kind(ids map[string]int) object {
	var l layout
	var items []object
	for _, p := range row.Panels {
		if l.x+p.Width > columns {
			l.newLine(row.Height)
		}
		items = append(items, kind("GridLayoutItem", object{
			"x": l.x, "y": l.y, "width": p.Width, "height": row.Height,
			"element": object{"kind": "ElementReference", "name": elementName(ids[p.Title])},
		}))
		l.x += p.Width
	}
	spec := object{
		"title": row.Title, "collapse": false, "hideHeader": row.Title == "" || row.Collapsed,
		"layout": kind("GridLayout", object{"items": items}),
	}
	if row.While.Name != "" {
		spec["conditionalRendering"] = row.While.condition()
	}
	return kind("RowsLayoutRow", spec)
}

// dataQuery returns a query of Prometheus.
func dataQuery(spec object) object {
	return object{
		"kind": "DataQuery", "group": "prometheus", "version": "v0", "datasource": object{"name": "${" + DatasourceVariable + "}"}, "spec": spec,
	}
}

// element returns the panel, made of its classic form.
func (p Panel) element(id int) object {
	classic := p.object()
	queries := make([]object, 0, len(p.Targets))
	for _, target := range classic["targets"].([]object) {
		spec := object{}
		for key, value := range target {
			if key != "datasource" && key != "refId" {
				spec[key] = value
			}
		}
		queries = append(queries, kind("PanelQuery", object{"refId": target["refId"], "hidden": false, "query": dataQuery(spec)}))
	}
	transformations := []object{}
	for _, t := range p.transformations() {
		transformations = append(transformations, kind(t["id"].(string), t))
	}
	links := []object{}
	if of, ok := classic["links"]; ok {
		links = of.([]object)
	}
	return kind("Panel", object{
		"id": id, "title": p.Title, "description": p.Description, "links": links,
		"data": kind("QueryGroup", object{"queries": queries, "transformations": transformations, "queryOptions": object{}}),
		"vizConfig": object{
			"kind": "VizConfig", "group": p.View.kind(), "version": "",
			"spec": object{"options": classic["options"], "fieldConfig": classic["fieldConfig"]},
		},
	})
}

// annotationKinds returns the annotations.
func (d Dashboard) annotationKinds(ids map[string]int) []object {
	all := []object{}
	for _, a := range d.Annotations {
		classic := a.object(ids)
		all = append(all, kind("AnnotationQuery", object{
			"query": dataQuery(object{"expr": a.Query}), "enable": true, "hide": false, "iconColor": a.Color, "name": a.Name,
			"filter": classic["filter"],
			"legacyOptions": object{
				"expr": a.Query, "titleFormat": a.Title, "textFormat": a.Text, "step": "", "tagKeys": "", "useValueForTime": true,
			},
		}))
	}
	return all
}

// kind returns the variable in its form of the schema v2.
func (v Variable) kind() object {
	classic := v.object()
	hide := "dontHide"
	if v.Hidden {
		hide = "hideVariable"
	}
	spec := object{
		"name": v.Name, "label": v.Label, "description": v.Description, "hide": hide, "skipUrlSync": false, "allowCustomValue": true,
		"current": object{"text": "", "value": ""}, "multi": classic["multi"], "includeAll": classic["includeAll"], "options": classic["options"],
	}
	if current, ok := classic["current"].(object); ok && current["text"] != nil {
		spec["current"] = object{"text": current["text"], "value": current["value"]}
	}
	switch classic["type"] {
	case "datasource":
		spec["pluginId"], spec["refresh"], spec["regex"] = "prometheus", "onDashboardLoad", ""
		return kind("DatasourceVariable", spec)
	case "custom":
		spec["query"] = classic["query"]
		return kind("CustomVariable", spec)
	}
	spec["query"], spec["definition"] = dataQuery(classic["query"].(object)), classic["definition"]
	spec["refresh"], spec["sort"], spec["regex"] = "onTimeRangeChanged", "alphabeticalAsc", ""
	if all, ok := classic["allValue"]; ok {
		spec["allValue"] = all
	}
	return kind("QueryVariable", spec)
}
