package statusz

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

// evil is what a name may try in an event stream, in JSON, in a page and on a terminal.
const evil = "a\nevent: owned\ndata: {}\n\n\r\rid: 1\r\nretry: 0\u2028\u2029\x00\xff</script><script>alert(1)</script>\" onload='x'"

// TestNoNameReachesBeyondItsLine reads the bytes of the stream: a line is all that a name can have a part of.
func TestNoNameReachesBeyondItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		newThrottle(t, p, throttle.Config{Name: evil})
		p.Add(status(Status{Kind: evil, Name: evil, State: evil, Figures: []Figure{{evil, 1, evil}}, Transitions: []Transition{{From: evil, To: evil}}}))
		p.Add(SourceFunc(func() Status { panic(evil) }))
		lines := bufio.NewScanner(host(t, p).subscribe(t).response.Body)
		lines.Split(func(data []byte, _ bool) (int, []byte, error) { // as a browser does, which ends a line with CR too
			if i := strings.IndexAny(string(data), "\r\n"); i >= 0 {
				return i + 1, data[:i], nil
			}
			return 0, nil, nil
		})
		for events := 0; events < 3 && lines.Scan(); {
			switch line := lines.Text(); {
			case line == "":
				events++
			case line == "event: snapshot", line == "event: sample":
			case !strings.HasPrefix(line, "data: {") || strings.ContainsAny(line, "<>\x00\u2028\u2029") || strings.Contains(line, "\xff"):
				t.Errorf("got the line %q", line)
			}
		}
	})
}

// TestNoOtherSiteIsLetIn asks as a page of another site would: the browser is told nothing that would let it read the answer.
func TestNoOtherSiteIsLetIn(t *testing.T) {
	p := New()
	defer p.Close()
	for _, target := range []string{"/", "/?format=json", "/?format=json&callback=owned", "/?format=nothing"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost} {
			w := request(p, method, target, "Origin", "https://evil.example", "Access-Control-Request-Method", "GET", "Sec-Fetch-Site", "cross-site")
			for name := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: got %s, want none", method, target, name)
				}
			}
			if got := w.Header().Get("Cross-Origin-Resource-Policy"); got != "same-origin" {
				t.Errorf("%s %s: got Cross-Origin-Resource-Policy %q want same-origin", method, target, got)
			}
			if strings.Contains(w.Body.String(), "owned") {
				t.Errorf("%s %s: the query is in the answer", method, target)
			}
		}
	}
}

// TestNothingOfTheRequestIsEchoedAsMarkup has requests that would like to be read in the answer.
func TestNothingOfTheRequestIsEchoedAsMarkup(t *testing.T) {
	p := New()
	defer p.Close()
	const script = "%3Cscript%3Ealert(1)%3C/script%3E"
	for _, target := range []string{
		"/" + script, "/..%2f..%2fetc%2fpasswd", "/?q=" + script, "/?format=" + script, "/?format=json&history=" + script,
		"/?format=json&format=" + script, "/?format=%00", "/?sort=" + script + "#" + script,
	} {
		w := request(p, http.MethodGet, target, "Host", "<script>", "Referer", "<script>", "User-Agent", "<script>")
		body, kind := w.Body.String(), w.Header().Get("Content-Type")
		if w.Code == http.StatusOK && strings.Contains(body, "<script>alert") || strings.Contains(body, "root:") {
			t.Errorf("GET %s: the answer has a part of the request", target)
		}
		// An error may quote what it does not understand, as long as no browser takes that for a page.
		if w.Code != http.StatusOK && kind != "text/plain; charset=utf-8" {
			t.Errorf("GET %s: got an error as %q", target, kind)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("GET %s: got %s %q want %q", target, name, got, want)
			}
		}
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, part) {
				t.Errorf("GET %s: got the policy %q without %s", target, policy, part)
			}
		}
	}
}
