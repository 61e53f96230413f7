package statusz_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestPage_Runbooks serves the handler at ?format=runbooks only, and links to it only with it.
func TestPage_Runbooks(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	get := func(target string) (int, string) {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, http.NoBody))
		return w.Code, w.Body.String()
	}
	const link = `<a href="?format=runbooks">`
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "what to do") })
	for _, tt := range []struct {
		name    string
		handler http.Handler
		code    int
		body    string
	}{{"without", nil, 400, "format"}, {"with", handler, 200, "what to do"}, {"removed", nil, 400, "format"}} {
		page.Runbooks(tt.handler)
		if code, body := get("/?format=runbooks"); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s: got %d %s want %d %s", tt.name, code, body, tt.code, tt.body)
		}
		if _, body := get("/"); strings.Contains(body, link) != (tt.handler != nil) || !strings.HasSuffix(body, "</body>\n</html>\n") {
			t.Errorf("%s: got a whole page with a link %v want %v", tt.name, strings.Contains(body, link), tt.handler != nil)
		}
	}
	var none *statusz.Page
	none.Runbooks(handler)
}
