package statusz

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestServe_format(t *testing.T) {
	const (
		html   = "text/html; charset=utf-8"
		json   = "application/json; charset=utf-8"
		stream = "text/event-stream; charset=utf-8"
		text   = "text/plain; charset=utf-8"
	)
	p := New()
	defer p.Close()
	tests := []struct{ query, accept, want string }{
		{"", "", html},
		{"", "*/*", html},
		{"", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", html},
		{"", "application/json", json},
		{"", "Application/JSON; charset=utf-8", json},
		{"", "application/json, text/plain, */*", json},
		{"", "application/*", json},
		{"", "text/html;q=0.5, application/json;q=0.6", json},
		{"", "text/html, application/json", html},
		{"", "application/json;q=0, */*", html},
		{"", "application/json;q=0", html},
		{"", "text/event-stream", stream},
		{"", "image/png", html},
		{"", "nonsense;;;q=,,", html},
		{"?format=json", "text/html", json},
		{"?format=stream", "text/html", stream},
		{"?format=html", "application/json", html},
		{"?format=", "application/json", html},
		{"?q=orders&sort=name", "text/html", html},
		{"?format=xml", "", text},
	}
	for _, tt := range tests {
		w := request(p, http.MethodHead, "/debug/throttle"+tt.query, "Accept", tt.accept)
		if got := w.Header().Get("Content-Type"); got != tt.want {
			t.Errorf("%s, Accept %q: got %s want %s", tt.query, tt.accept, got, tt.want)
		}
	}
}

func TestPage_hooks(t *testing.T) {
	p := New()
	defer p.Close()
	if h := p.Hooks(); h.Created == nil || h.Closed == nil || h.Shed != nil || h.Started != nil || h.Finished != nil || h.FellBack != nil {
		t.Errorf("got hooks %+v want Created and Closed, and none that runs during calls", h)
	}
}

func TestPage_nilAndZero(t *testing.T) {
	for name, p := range map[string]*Page{"nil": nil, "zero": {}} {
		h := p.Hooks()
		if h.Created != nil || h.Closed != nil {
			t.Errorf("%s: got hooks want none", name)
		}
		p.Add(status(Status{}))()
		p.ShowTenants(true)
		for _, target := range []string{"/", "/?format=json", "/?format=stream"} {
			if w := request(p, http.MethodGet, target); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: %s: got status %d want 503", name, target, w.Code)
			}
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

// TestPage_contentSecurityPolicy computes the hashes from the served page.
func TestPage_contentSecurityPolicy(t *testing.T) {
	p := New()
	defer p.Close()
	w := request(p, http.MethodGet, "/any/where?q=x")
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	for directive, tag := range map[string]string{"script-src": "script", "style-src": "style"} {
		if n := strings.Count(page, "<"+tag); n != 1 {
			t.Fatalf("got %d times <%s want one", n, tag)
		}
		_, rest, _ := strings.Cut(page, "<"+tag+">")
		text, _, found := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !found || !strings.Contains(policy+";", want+";") {
			t.Errorf("got policy %q, want in it %s", policy, want)
		}
	}
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy+";", want+";") {
			t.Errorf("got policy %q, want in it %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("got policy %q", policy)
	}
}

// TestPage_selfContained looks for anything that would be fetched from another server or that the policy blocks.
func TestPage_selfContained(t *testing.T) {
	p := New()
	defer p.Close()
	page := string(p.html)
	namespaces := strings.NewReplacer("http://www.w3.org/2000/svg", "")
	for what, pattern := range map[string]string{
		"address":          `https?:|src=|url\(|@import`,
		"inline handler":   `(?i)<[^>]*\son[a-z]+\s*=`,
		"inline style":     `(?i)<[^>]*\sstyle\s*=`,
		"markup from data": `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function`,
		"placeholder":      `\{\{|\}\}\}`,
		"carriage return":  `\r`,
	} {
		if found := regexp.MustCompile(pattern).FindString(namespaces.Replace(page)); found != "" {
			t.Errorf("got in the page an %s: %q", what, found)
		}
	}
	if !strings.Contains(page, `<noscript>`) || !strings.Contains(page, `<a href="?format=json">as JSON</a>`) {
		t.Error("got no word for those without JavaScript")
	}
}

// TestServe_head compares HEAD with GET: all but the body is the same. HEAD starts no sampler.
func TestServe_head(t *testing.T) {
	full := func(p *Page) { p.subscribers.streams, p.subscribers.responses = maxStreams, maxResponses }
	closed := func(p *Page) { _ = p.Close() }
	open := func(*Page) {}
	for _, tt := range []struct {
		query string
		page  func(*Page)
		want  int
	}{
		{"", open, 200},
		{"?format=json&history=1", open, 200},
		{"?format=json&history=much", open, 400},
		{"?history=much", open, 200}, // of another format
		{"?format=xml", open, 400},
		{"?format=stream", open, 200},
		{"", full, 503},
		{"?format=json&history=much", full, 503},
		{"?format=stream", full, 503},
		{"?format=stream", closed, 503},
	} {
		onPage(t, func(t *testing.T, p *Page) {
			tt.page(p)
			s := host(t, p)
			answer := func(method string) *http.Response {
				r, err := http.NewRequestWithContext(t.Context(), method, "http://site/debug/throttle"+tt.query, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				got.Header.Del("Date")
				got.Header.Del("Content-Length")
				return got
			}
			head := answer(http.MethodHead)
			if body, err := io.ReadAll(head.Body); head.StatusCode != tt.want || len(body) > 0 || err != nil || p.subscribers.sampler != nil {
				t.Errorf("HEAD %s: got status %d, %d bytes, %v want %d and no sampler", tt.query, head.StatusCode, len(body), err, tt.want)
			}
			get := answer(http.MethodGet)
			_ = get.Body.Close()
			if head.StatusCode != get.StatusCode || head.Close != get.Close || !maps.EqualFunc(head.Header, get.Header, slices.Equal) {
				t.Errorf("HEAD %s: got %v, %v\nwant as GET %v, %v", tt.query, head.Status, head.Header, get.Status, get.Header)
			}
		})
	}
}

// TestPage_handlers serves the handlers of Control and Runbooks at their formats only, and shows fields and the link only with them.
func TestPage_handlers(t *testing.T) {
	page := New()
	defer page.Close()
	get := func(method, target string) (int, string) {
		w := request(page, method, target)
		return w.Code, w.Body.String()
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "handled "+r.Method) })
	for _, tt := range []struct {
		name, method, format string
		set                  func(*Page, http.Handler)
		code                 int // without the handler
		mark                 string
	}{
		{"control", "POST", "/?format=control", (*Page).Control, 405, "<body data-control>"},
		{"runbooks", "GET", "/?format=runbooks", (*Page).Runbooks, 400, `<a href="?format=runbooks">`},
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
		for _, method := range []string{"GET", "POST"} {
			if code, _ := get(method, target); code != 503 {
				t.Errorf("%s %s of a closed page: got %d", method, target, code)
			}
		}
	}
}
