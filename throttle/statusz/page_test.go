package statusz

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestOnlyGETAndHEADAreAnswered(t *testing.T) {
	p := New()
	defer p.Close()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		w := request(p, method, "/")
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got status %d, Allow %q, want 405, GET, HEAD", method, w.Code, w.Header().Get("Allow"))
		}
	}
	for _, target := range []string{"/", "/?format=json", "/?format=stream"} {
		w := request(p, http.MethodHead, target)
		if w.Code != http.StatusOK || w.Body.Len() != 0 {
			t.Errorf("HEAD %s: got status %d and %d bytes, want 200 and none", target, w.Code, w.Body.Len())
		}
	}
}

func TestEveryAnswerHasTheHeadersThatGuardIt(t *testing.T) {
	p := New()
	defer p.Close()
	for _, target := range []string{"/", "/?format=json", "/?format=xml"} {
		h := request(p, http.MethodGet, target).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept", "Content-Security-Policy": p.policy,
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: got %s %q want %q", target, name, got, want)
			}
		}
	}
}

func TestTheFormatIsWhatWasAskedFor(t *testing.T) {
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

func TestBadQueries(t *testing.T) {
	p := New()
	defer p.Close()
	for query, want := range map[string]string{
		"format=xml":                        `statusz: format is "xml": want html, json or stream`,
		"format=" + strings.Repeat("x", 99): `statusz: format is "` + strings.Repeat("x", 40) + `": want html, json or stream`,
		"format=json&history=much":          `statusz: history is "much": want 1 or 0`,
		"format=json&history=":              `statusz: history is "": want 1 or 0`,
	} {
		w := request(p, http.MethodGet, "/?"+query)
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusBadRequest || got != want {
			t.Errorf("%s: got status %d, %q want 400, %q", query, w.Code, got, want)
		}
	}
	for _, query := range []string{"history=0", "history=1"} {
		w := request(p, http.MethodGet, "/?format=json&"+query)
		if w.Code != http.StatusOK {
			t.Errorf("%s: got status %d", query, w.Code)
		}
	}
}

func TestNilAndZeroPages(t *testing.T) {
	for name, p := range map[string]*Page{"nil": nil, "zero": {}} {
		h := p.Hooks()
		if h.Created != nil || h.Closed != nil {
			t.Errorf("%s: got hooks want none", name)
		}
		p.Add(status(Status{}))()
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

// TestPolicyFitsThePage computes the hashes from what is served.
func TestPolicyFitsThePage(t *testing.T) {
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

// TestPageIsSelfContained looks for what would be fetched from elsewhere, or what the policy would refuse.
func TestPageIsSelfContained(t *testing.T) {
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

// TestWhatTheUserNamesWraps reads the style: a word of any length, without a space, must neither widen the page nor be cut off.
func TestWhatTheUserNamesWraps(t *testing.T) {
	style := read("page.css")
	for what, selector := range map[string]string{
		"a throttle's name": ".name", "all of a source": ".sources tbody tr > *", "a figure of a source": ".pair",
		"a transition": ".change", "a complaint": ".complaint", "the summary": ".summary", "what was sought": ".empty",
	} {
		_, rule, found := strings.Cut(style, "\n"+selector+" {")
		rule, _, _ = strings.Cut(rule, "}")
		if !found || !strings.Contains(rule, "overflow-wrap: anywhere") {
			t.Errorf("%s: got rule %s {%s} want it to wrap anywhere", what, selector, rule)
		}
	}
	for _, rule := range regexp.MustCompile(`[^\n}]*\{[^}]*(ellipsis|nowrap)[^}]*\}`).FindAllString(style, -1) {
		if selector, _, _ := strings.Cut(rule, " {"); regexp.MustCompile(`\.name|\.sources|\.level|\.pair|\.change`).MatchString(selector) {
			t.Errorf("got rule %s, which does not wrap", rule)
		}
	}
}
