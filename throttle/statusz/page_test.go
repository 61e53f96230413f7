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
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
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

func TestServe_badQueries(t *testing.T) {
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

// answerTo asks a site, and returns the answer with a description of what HEAD and GET must have in common.
func (s *site) answerTo(t testing.TB, method, query string) (answer *http.Response, head map[string][]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://site/debug/throttle"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = s.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, query, err)
	}
	head = maps.Clone(answer.Header)
	for _, ofTheBody := range []string{"Date", "Content-Length"} {
		delete(head, ofTheBody)
	}
	return answer, head
}

func TestServe_head(t *testing.T) {
	full := func(p *Page) { p.subscribers.streams, p.subscribers.responses = maxStreams, maxResponses }
	closed := func(p *Page) { _ = p.Close() }
	for _, tt := range []struct {
		name, query string
		before      func(*Page)
		want        int
	}{
		{"the page", "", nil, 200},
		{"JSON", "?format=json", nil, 200},
		{"JSON with its history", "?format=json&history=1", nil, 200},
		{"JSON with a bad query", "?format=json&history=much", nil, 400},
		{"the page with another format's query", "?history=much", nil, 200},
		{"an unknown format", "?format=xml", nil, 400},
		{"a stream", "?format=stream", nil, 200},
		{"the page, full", "", full, 503},
		{"JSON, full", "?format=json", full, 503},
		{"JSON with a bad query, full", "?format=json&history=much", full, 503},
		{"a stream, full", "?format=stream", full, 503},
		{"the page, closed", "", closed, 503},
		{"a stream, closed", "?format=stream", closed, 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New()
				defer p.Close()
				if tt.before != nil {
					tt.before(p)
				}
				s := host(t, p)
				head, got := s.answerTo(t, http.MethodHead, tt.query)
				body, err := io.ReadAll(head.Body)
				if head.StatusCode != tt.want || len(body) > 0 || err != nil {
					t.Errorf("HEAD: got status %d, %d bytes, %v want %d, none, nil", head.StatusCode, len(body), err, tt.want)
				}
				if p.subscribers.sampler != nil {
					t.Error("HEAD has started a sampler")
				}
				get, want := s.answerTo(t, http.MethodGet, tt.query)
				_ = get.Body.Close()
				if head.StatusCode != get.StatusCode || head.Close != get.Close || !maps.EqualFunc(got, want, slices.Equal) {
					t.Errorf("HEAD: got status %d, closing %v, header %v\nwant as GET %d, %v, %v",
						head.StatusCode, head.Close, got, get.StatusCode, get.Close, want)
				}
			})
		})
	}
}

// TestHooks_onlyCreatedAndClosed checks that no hook runs during calls, so that calls cost the same as without.
func TestHooks_onlyCreatedAndClosed(t *testing.T) {
	p := New()
	defer p.Close()
	h := p.Hooks()
	if h.Created == nil || h.Closed == nil {
		t.Error("got no Created or no Closed")
	}
	if h.Shed != nil || h.Started != nil || h.Finished != nil || h.FellBack != nil {
		t.Error("got a hook that calls would have to call")
	}
}

func TestPage_close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		reads := watched(t, p)
		s := host(t, p)
		viewer := s.subscribe(t)
		if _, _, err := viewer.next(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.Close(); err != nil {
				t.Errorf("Close: got %v want nil", err)
			}
		}
		if _, _, err := viewer.next(); err == nil {
			t.Error("the stream goes on after Close")
		}
		before := reads.Load()
		time.Sleep(time.Minute)
		if after := reads.Load(); after != before {
			t.Errorf("got %d readings after Close, want none", after-before)
		}
		for _, target := range []string{"/", "/?format=json", "/?format=stream"} {
			w := request(p, http.MethodGet, target)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s after Close: got status %d, Retry-After %q, want 503 and some", target, w.Code, w.Header().Get("Retry-After"))
			}
		}
		th := newThrottle(t, p, throttle.Config{Name: "late"})
		_ = th.Close()
		p.Add(SourceFunc(func() Status { return Status{} }))()
	})
}
