package statusz_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestPage_control serves the handler at ?format=control only, and shows controls only with it.
func TestPage_control(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	get := func(method, target string) (int, string) {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(method, target, http.NoBody))
		return w.Code, w.Body.String()
	}
	controlled := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "controlled "+r.Method) })
	for _, tt := range []struct {
		name            string
		handler         http.Handler
		code            int
		body, attribute string
	}{
		{"without", nil, 405, "want GET or HEAD", "<body>"},
		{"with", controlled, 200, "controlled POST", "<body data-control>"},
		{"removed", nil, 405, "want GET or HEAD", "<body>"},
	} {
		page.Control(tt.handler)
		if code, body := get("POST", "/?format=control"); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s: got %d %s want %d %s", tt.name, code, body, tt.code, tt.body)
		}
		if _, body := get("GET", "/"); !strings.Contains(body, tt.attribute) {
			t.Errorf("%s: got a page without %s", tt.name, tt.attribute)
		}
		if code, _ := get("POST", "/"); code != 405 {
			t.Errorf("%s: POST to the page: got %d", tt.name, code)
		}
	}
	var none *statusz.Page
	none.Control(controlled)
	_ = page.Close()
	page.Control(controlled)
	if code, _ := get("GET", "/"); code != 503 {
		t.Errorf("a closed page: got %d", code)
	}
}
