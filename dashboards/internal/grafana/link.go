package grafana

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
