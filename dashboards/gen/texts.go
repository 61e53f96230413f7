package main

import (
	_ "embed" // of texts.md
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

//go:embed texts.md
var texts string

// described returns a dashboard with the texts of texts.md: of itself, and of its panels. Panels of several boards that are alike have
// their text with the first of them.
func described(d grafana.Dashboard) grafana.Dashboard {
	of := textsByTitle()
	board := strings.TrimPrefix(d.Title, "Throttle / ")
	d.Description = of[board]
	for _, row := range d.Rows {
		for i, p := range row.Panels {
			text, own := of[board+" → "+p.Title]
			if !own {
				text = of["Overview → "+p.Title]
			}
			row.Panels[i].Description = text
		}
	}
	return d
}

// textsByTitle returns the texts by board, and by board and panel as the runbooks name them: Overview → Offered.
func textsByTitle() map[string]string {
	all, board := map[string]string{}, ""
	for _, section := range strings.Split(texts, "\n#")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		if panel, ok := strings.CutPrefix(title, "# "); ok {
			title = board + " → " + panel
		} else {
			board = strings.TrimSpace(title)
			title = board
		}
		all[title] = strings.Join(strings.Fields(text), " ")
	}
	return all
}
