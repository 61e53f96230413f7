package dashboards

import (
	"html"
	"net/http"
	"strings"
)

// Runbooks returns a handler that serves runbooks.md of this build as a page. Each alert has two anchors: its name, and its name
// in lower case. A service can have it on its private port, so that a page of an alert can be read when nothing else can:
//
//	page.Runbooks(dashboards.Runbooks()) // of statusz: /debug/throttle?format=runbooks#throttlebackenddown
func Runbooks() http.Handler {
	text, err := FS.ReadFile("runbooks.md")
	page := runbooksPage(string(text))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err != nil { // an embedded file is always there
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page)) // the client may have disconnected
	})
}

// runbooksPage shows the Markdown as it is, with headings and links between them.
func runbooksPage(text string) string {
	var out strings.Builder
	out.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<title>Runbooks</title>\n<pre>\n")
	for line := range strings.Lines(text) {
		heading, ok := strings.CutPrefix(line, "## ")
		heading = strings.TrimSpace(heading)
		switch {
		case ok:
			id := strings.ReplaceAll(strings.ToLower(heading), " ", "-")
			out.WriteString(`</pre><h2 id="` + html.EscapeString(id) + `">` + html.EscapeString(heading) + "</h2><pre>\n")
		case strings.HasPrefix(line, "| [Throttle"):
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "| ["), "]")
			_, rest, _ = strings.Cut(rest, ")")
			out.WriteString(`<a href="#` + strings.ToLower(name) + `">` + name + "</a>" + html.EscapeString(rest))
		case strings.HasPrefix(line, "<a id="): // dashboards link to it
			out.WriteString(line)
		case !strings.HasPrefix(line, "<!--"):
			out.WriteString(html.EscapeString(line))
		}
	}
	out.WriteString("</pre>\n</html>\n")
	return out.String()
}
