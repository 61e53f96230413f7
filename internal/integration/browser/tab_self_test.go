package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAPageThatComplainsIsNoticed makes sure that a test would see what a developer sees in red.
func TestAPageThatComplainsIsNoticed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>broken</title><img src="/gone" hidden><script>console.error("oh dear"); nobody()</script>`))
	}))
	t.Cleanup(server.Close) // after the tab, which asks for an icon whenever it likes
	p := newTab(t, 800, 600)
	p.open(server.URL)
	p.eventually("the page is there", `document.title === "broken"`)
	complaints := p.complaints()
	for _, want := range []string{"oh dear", "nobody"} {
		if !strings.Contains(complaints, want) {
			t.Errorf("got %q, want it to tell of %q", complaints, want)
		}
	}
	p.forgive()
}
