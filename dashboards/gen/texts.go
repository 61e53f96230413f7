package main

import (
	_ "embed" // of texts.md
	"strings"
)

//go:embed texts.md
var texts string

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
