// Package pagetest has the tests that every page of the examples must pass.
package pagetest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Get returns the answer to a GET of a browser on this machine.
func Get(t *testing.T, handler http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8080"+path, nil))
	return recorder
}

// Check tests the page at /, and the files that it loads:
//   - they are served with their type and with the security headers
//   - every id that a script asks for is on the page, once, and so are the given ids
//   - nothing comes from elsewhere, nothing is inline, and scripts set text as text
func Check(t *testing.T, handler http.Handler, ids ...string) {
	t.Helper()
	page := load(t, handler, "/")
	script := ""
	for _, name := range assetsOf(t, handler, page) {
		script += load(t, handler, "/"+name)
	}
	checkIDs(t, page, script, ids)
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(script, bad) {
			t.Errorf("scripts: got %s want text set as text", bad)
		}
	}
	for _, m := range regexp.MustCompile(`https?://[^"'\s)]+|\son\w+=|\sstyle=`).FindAllString(script+page, -1) {
		if m != "http://www.w3.org/2000/svg" {
			t.Errorf("page: got %q want nothing from elsewhere, and nothing inline", m)
		}
	}
}

// load returns a file, which must have its type and the security headers.
func load(t *testing.T, handler http.Handler, path string) string {
	t.Helper()
	got := Get(t, handler, path)
	kind, ending := got.Header().Get("Content-Type"), path[strings.LastIndex(path, ".")+1:]
	if kind == "" {
		kind = http.DetectContentType(got.Body.Bytes()) // as a server does
	}
	want := map[string]string{"/": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[ending]
	if got.Code != http.StatusOK || !strings.HasPrefix(kind, want) {
		t.Errorf("%s: got status %d and %s want 200 and %s", path, got.Code, kind, want)
	}
	policy := got.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("%s: got the policy %q want our own only", path, policy)
	}
	if got.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: got headers %v want nosniff", path, got.Header())
	}
	return got.Body.String()
}

// assetsOf returns the files that the page loads, with those that its scripts import.
func assetsOf(t *testing.T, handler http.Handler, page string) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`"(assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	for i := 0; i < len(names); i++ {
		text := Get(t, handler, "/"+names[i]).Body.String()
		for _, m := range regexp.MustCompile(`from "\./([^"]+)"`).FindAllStringSubmatch(text, -1) {
			if name := "assets/" + m[1]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func checkIDs(t *testing.T, page, script string, wanted []string) {
	t.Helper()
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("id %s: got it twice", m[1])
		}
		ids = append(ids, m[1])
	}
	for _, m := range regexp.MustCompile(`byId\("([^"]+)"\)|getElementById\("([^"]+)"\)`).FindAllStringSubmatch(script, -1) {
		wanted = append(wanted, m[1]+m[2])
	}
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			t.Errorf("id %s: got none", id)
		}
	}
}
