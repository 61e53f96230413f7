package statusz

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The files of the page. They need no build step and load nothing from other servers.
//
//go:embed page
var files embed.FS

// Page shows every throttle made with its [Page.Hooks] live, and every [Source] that [Page.Add] was
// called with. It is an [http.Handler]. Make one per process with [New]. All methods are safe for
// concurrent use. A nil or zero Page shows nothing: its hooks are empty and it answers every
// request with 503.
type Page struct {
	html        []byte
	controls    atomic.Pointer[http.Handler] // nil without Control
	runbooks    atomic.Pointer[http.Handler] // nil without Runbooks
	csp         string                       // Content-Security-Policy
	process     process
	stats       func() throttle.ProcessorStats // throttle.Processor, except in tests
	registry    registry
	subscribers subscribers
	done        chan struct{} // closed by Close; nil in a zero Page
	closeOnce   sync.Once
}

// New returns a page without throttles and sources.
func New() *Page {
	p := &Page{process: currentProcess(), stats: throttle.Processor, done: make(chan struct{})}
	p.html, p.csp = buildPage()
	p.registry.setUp()
	return p
}

func currentProcess() process {
	host, _ := os.Hostname() // empty on error: the page then shows no host
	return process{
		Command: filepath.Base(os.Args[0]), Host: host, PID: os.Getpid(), Go: runtime.Version(),
		Started: timestamp(time.Now()),
	}
}

// valid reports whether p came from New.
func (p *Page) valid() bool { return p != nil && p.done != nil }

// Hooks returns the hooks for a throttle's Config. Several throttles may share them, and
// [throttle.JoinHooks] joins them with other hooks. [throttle.SetDefaultHooks] applies them to
// every throttle that is made later without Hooks. Only Created and Closed are set, so calls cost
// the same with the page as without: the page reads the counters that every throttle keeps.
//
// Throttles of one name share one row. The page keeps the row until the last of them is closed, so
// close throttles that you no longer use.
func (p *Page) Hooks() throttle.Hooks {
	if !p.valid() {
		return throttle.Hooks{}
	}
	return throttle.Hooks{Created: p.registry.throttles.Join, Closed: p.registry.throttles.Leave}
}

// Add shows s, such as a breaker, bucket or backoff of package statusz/sources, until remove is
// called. Calling remove again does nothing. Add panics if s is nil or a nil [SourceFunc].
func (p *Page) Add(s Source) (remove func()) {
	if f, ok := s.(SourceFunc); s == nil || ok && f == nil {
		panic("statusz: Page.Add: Source is nil")
	}
	if !p.valid() {
		return func() {}
	}
	return p.registry.add(s)
}

// Control serves h, the handler of a control.Control, at ?format=control of the page. The page then
// has fields for mode, ratio, minimum rate and slow calls of each throttle, and shows which values
// an operator has set. H decides who may use them. Nil removes the controls. Without Control the
// page is read-only.
func (p *Page) Control(h http.Handler) {
	if p.valid() {
		setHandler(&p.controls, h)
	}
}

// Runbooks serves h, such as dashboards.Runbooks, at ?format=runbooks of the page, and links to it. So the
// runbooks of the release that runs can be read where the service can be reached. Nil removes the link.
func (p *Page) Runbooks(h http.Handler) {
	if p.valid() {
		setHandler(&p.runbooks, h)
	}
}

func setHandler(to *atomic.Pointer[http.Handler], h http.Handler) {
	if h == nil {
		to.Store(nil)
		return
	}
	to.Store(&h)
}

// Close ends the sampling and all streams at once, and responses in flight within ten seconds. From
// then on the page answers 503, and its hooks and Add do nothing. Close is idempotent and always
// returns nil.
func (p *Page) Close() error {
	if !p.valid() {
		return nil
	}
	p.closeOnce.Do(func() {
		close(p.done)
		p.subscribers.close()
		p.registry.end()
	})
	return nil
}

func (p *Page) closed() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// buildPage returns the page as one HTML document, and the security policy that allows only its
// own style and script.
func buildPage() (html []byte, csp string) {
	style := readFiles("page.css")
	script := "(() => {\n\"use strict\";\n" + readFiles(
		"number.js", "model.js", "dom.js", "spark.js", "tooltip.js", "control.js", "card.js", "members.js", "details.js",
		"sources.js", "list.js", "header.js", "stream.js", "page.js",
	) + "})();\n"
	page := strings.NewReplacer("{{page.css}}", style, "{{page.js}}", script).Replace(readFiles("page.html"))
	csp = strings.Join([]string{
		"default-src 'none'",
		"script-src " + cspHash(script),
		"style-src " + cspHash(style),
		"connect-src 'self'",
		"img-src data:", // the icon
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
	return []byte(page), csp
}

func readFiles(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		text, err := files.ReadFile("page/" + name)
		if err != nil {
			panic(err) // unreachable: the files are embedded
		}
		all.Write(text)
	}
	return all.String()
}

func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var _ http.Handler = (*Page)(nil)
