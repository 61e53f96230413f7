package dashboards_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards"
)

// alertNames returns the names of the alerts.
func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(readFile(t, "rules/alerts.yml"), -1) {
		names = append(names, m[1])
	}
	return names
}

// TestRunbooks_haveStepAndUndo lists the step of each alert that needs no release, and its undo.
func TestRunbooks_haveStepAndUndo(t *testing.T) {
	text := readFile(t, "runbooks.md")
	listed := regexp.MustCompile(`(?m)^# (Step[^:]*: .*|Undo:.*)$`)
	for _, name := range alertNames(t) {
		_, section, _ := strings.Cut(text, "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		found := listed.FindAllStringSubmatch(section, -1)
		if len(found) != 2 || !strings.HasPrefix(found[0][1], "Step") || !strings.HasPrefix(found[1][1], "Undo") {
			t.Errorf("%s: got %v want one step and its undo", name, found)
			continue
		}
		_, commands, _ := strings.Cut(section, found[0][0]+"\n")
		step, undo, _ := strings.Cut(commands, found[1][0]+"\n")
		undo, _, _ = strings.Cut(undo, "```")
		if !strings.Contains(step, "curl ") && !strings.Contains(step, "kubectl ") || undo == "" && !strings.Contains(found[1][1], "nothing to undo") {
			t.Errorf("%s: got step %q and undo %q want commands", name, step, undo)
		}
		t.Logf("%s: %s\n%s%s\n%s", name, found[0][1], step, found[1][1], undo)
	}
}

func TestRunbooks_page(t *testing.T) {
	w := httptest.NewRecorder()
	dashboards.Runbooks().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	page := w.Body.String()
	for _, name := range alertNames(t) {
		for _, want := range []string{`<h2 id="` + strings.ToLower(name) + `">` + name + "</h2>", `<a href="#` + strings.ToLower(name) + `">`} {
			if !strings.Contains(page, want) {
				t.Errorf("page: got no %s", want)
			}
		}
	}
	if w.Code != 200 || strings.Contains(page, "<!-- ") || !strings.Contains(page, "&lt;") && strings.Contains(page, "2>&1") {
		t.Errorf("page: got code %d, or a comment of the file", w.Code)
	}
}
