package statusz

import (
	"bytes"
	"net/http"
)

// runbooks is the handler of the runbooks.
type runbooks struct{ handler http.Handler }

// Runbooks serves h, such as dashboards.Runbooks, at ?format=runbooks of the page, and links to it. So the
// runbooks of the release that runs can be read where the service can be reached. Nil removes the link.
func (p *Page) Runbooks(h http.Handler) {
	switch {
	case !p.valid():
	case h == nil:
		p.runbooks.Store(nil)
	default:
		p.runbooks.Store(&runbooks{h})
	}
}

// serveRunbooks lets the handler of Runbooks answer, if the request is for it.
func (p *Page) serveRunbooks(w http.ResponseWriter, r *http.Request) bool {
	b := p.runbooks.Load()
	if b == nil || p.closed() || r.URL.Query().Get("format") != "runbooks" {
		return false
	}
	b.handler.ServeHTTP(w, r)
	return true
}

// withRunbooks returns the page with a link to the runbooks, if there are some.
func (p *Page) withRunbooks(html []byte) []byte {
	if p.runbooks.Load() == nil {
		return html
	}
	const link = ` · <a href="?format=runbooks">runbooks</a></p>`
	at := bytes.LastIndex(html, []byte("</p>\n</footer>"))
	return bytes.Join([][]byte{html[:at], html[at+len("</p>"):]}, []byte(link))
}
