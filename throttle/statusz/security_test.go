package statusz

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// hostileNames are what a name may try in an event stream, in JSON, in a page and on a terminal.
func hostileNames() []string {
	return []string{
		"a\nevent: owned\ndata: {}\n\n\r\rid: 1\r\nretry: 0\u2028\u2029\x00\xff</script><script>alert(1)</script>\" onload='x'",
		`<script>alert("x")</script>`, `</style><img src=x onerror=alert(1)>`, `"quoted' \ & <b>`, "line\nevent: x\ndata: y\r\n\r\n",
		"\x00\x1b[31m\x7f", "\u202eexe.gnp", "bad \xff\xfe", strings.Repeat("long ", 51), "שלום", "{{page.js}}",
	}
}

// TestSecurity_hostileNames reads JSON, the page and the bytes of the stream. A name or key must be
// part of one line and must not become markup.
func TestSecurity_hostileNames(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		names := hostileNames()
		for _, name := range names {
			newThrottle(t, p, throttle.Config{Name: name, Priorities: 1})
			p.Add(status(Status{
				Kind: name, Name: name, State: name, Figures: []Figure{{name, 1, name}}, Transitions: []Transition{{From: name, To: name}},
			}))
		}
		p.Add(SourceFunc(func() Status { panic(names[0]) }))
		group := newGroup(t, p, throttle.Config{Name: "group", Priorities: 1})
		for _, name := range names[:maxMembers] { // as keys
			throttle.Must(group.Get(name))
		}
		doc := show(t, p)
		if len(doc.Throttles) != len(names)+1 || len(doc.Sources) != len(names)+1 {
			t.Fatalf("JSON: got %d throttles and %d sources want one more than %d each", len(doc.Throttles), len(doc.Sources), len(names))
		}
		for _, name := range names {
			find(t, doc, string([]rune(name))) // which replaces what is not UTF-8, as JSON does
		}
		if members := find(t, doc, "group").Members; len(members) != maxMembers || !slices.ContainsFunc(members, func(m memberDocument) bool {
			return m.Key == `<script>alert("x")</script>`
		}) {
			t.Errorf("JSON: got members %v", members)
		}
		for _, target := range []string{"/", "/?format=json"} {
			body := request(p, http.MethodGet, target).Body.String()
			if strings.Contains(body, "<script>alert") || strings.Contains(body, "onerror=") && strings.Contains(body, "<img") {
				t.Errorf("%s has markup from a name", target)
			}
		}
		wantLines(t, host(t, p).subscribe(t).response.Body, 3)
	})
}

// wantLines fails the test unless all lines of the next events are of the stream's own making.
func wantLines(t *testing.T, stream io.Reader, events int) {
	t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) { // as a browser does, which ends a line with CR too
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for events > 0 && lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			events--
		case line == "event: snapshot", line == "event: sample":
		case !strings.HasPrefix(line, "data: {") || strings.ContainsAny(line, "<>\x00\u2028\u2029") || strings.Contains(line, "\xff"):
			t.Errorf("got the line %q", line)
		}
	}
	if events > 0 {
		t.Errorf("got %d events too few (%v)", events, lines.Err())
	}
}

// TestSecurity_headers asks as a page of another site would. No header may let that page read the response, or change anything.
func TestSecurity_headers(t *testing.T) {
	p := New()
	defer p.Close()
	for _, target := range []string{"/", "/?format=json", "/?format=json&callback=owned", "/?format=nothing"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE"} {
			w := request(p, method, target, "Origin", "https://evil.example", "Access-Control-Request-Method", "GET", "Sec-Fetch-Site", "cross-site")
			for name := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: got %s, want none", method, target, name)
				}
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept", "Content-Security-Policy": p.csp,
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s %s: got %s %q want %q", method, target, name, got, want)
				}
			}
			if reads := method == "GET" || method == "HEAD"; !reads && (w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD") {
				t.Errorf("%s %s: got status %d, Allow %q, want 405, GET, HEAD", method, target, w.Code, w.Header().Get("Allow"))
			}
			if strings.Contains(w.Body.String(), "owned") {
				t.Errorf("%s %s: the query is in the answer", method, target)
			}
		}
	}
}
