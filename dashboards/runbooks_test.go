package dashboards_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

// TestRunbooks_page has both anchors of a section: dashboards link to the file or the page by the name of the alert, alerts and the
// page itself by the heading.
func TestRunbooks_page(t *testing.T) {
	w := httptest.NewRecorder()
	dashboards.Runbooks().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	page, text := w.Body.String(), readFile(t, "runbooks.md")
	alerts := regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(readFile(t, "rules/alerts.yml"), -1)
	if len(alerts) < 14 {
		t.Errorf("alerts: got %d want fourteen at least", len(alerts))
	}
	for _, found := range alerts {
		name := found[1]
		if !strings.Contains(text, "<a id=\""+name+"\"></a>\n\n## "+name+"\n") {
			t.Errorf("%s: got no heading with an anchor", name)
		}
		for _, want := range []string{`<a id="` + name + `"></a>`, `<h2 id="` + strings.ToLower(name) + `">` + name + "</h2>", `<a href="#` + strings.ToLower(name) + `">`} {
			if !strings.Contains(page, want) {
				t.Errorf("page: got no %s", want)
			}
		}
	}
	if w.Code != 200 || strings.Contains(page, "<!-- ") || !strings.Contains(page, "&lt;") && strings.Contains(page, "2>&1") {
		t.Errorf("page: got code %d, or a comment of the file", w.Code)
	}
}
