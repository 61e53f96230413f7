package grafana

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
