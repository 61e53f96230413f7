package statusz_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestPage_handlers serves the handlers of Control and Runbooks at their formats only, and shows fields and the link only with them.
func TestPage_handlers(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	get := func(method, target string) (int, string) {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(method, target, http.NoBody))
		return w.Code, w.Body.String()
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "handled "+r.Method) })
	for _, tt := range []struct {
		name, method, format string
		set                  func(*statusz.Page, http.Handler)
		code                 int // without the handler
		mark                 string
	}{
		{"control", "POST", "/?format=control", (*statusz.Page).Control, 405, "<body data-control>"},
		{"runbooks", "GET", "/?format=runbooks", (*statusz.Page).Runbooks, 400, `<a href="?format=runbooks">`},
	} {
		for _, h := range []http.Handler{nil, handler, nil} {
			want := tt.code
			if h != nil {
				want = 200
			}
			tt.set(page, h)
			if code, body := get(tt.method, tt.format); code != want || strings.Contains(body, "handled "+tt.method) != (h != nil) {
				t.Errorf("%s, %v: got %d %s want %d", tt.name, h != nil, code, body, want)
			}
			if _, body := get("GET", "/"); strings.Contains(body, tt.mark) != (h != nil) || !strings.HasSuffix(body, "</body>\n</html>\n") {
				t.Errorf("%s: got a whole page with %s %v want %v", tt.name, tt.mark, strings.Contains(body, tt.mark), h != nil)
			}
			if code, _ := get("POST", "/"); code != 405 {
				t.Errorf("%s: POST to the page: got %d", tt.name, code)
			}
		}
		tt.set(nil, handler)
		tt.set(page, handler)
	}
	_ = page.Close()
	for _, target := range []string{"/", "/?format=control", "/?format=runbooks"} {
		if code, _ := get("GET", target); code != 503 {
			t.Errorf("%s of a closed page: got %d", target, code)
		}
	}
}
