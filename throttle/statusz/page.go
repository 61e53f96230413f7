package statusz

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Page shows every throttle that was made with its [Page.Hooks], live. It is an [http.Handler]. Make one per process with [New]; all
// methods are safe for concurrent use, and none panics on a nil or zero Page, which shows nothing.
type Page struct {
	html     []byte
	policy   string // of security: the Content-Security-Policy
	process  process
	registry registry
	audience audience
	done     chan struct{} // closed by Close; nil in a zero Page
	ending   sync.Once
}

// New returns a page that shows nothing yet.
func New() *Page {
	p := &Page{process: thisProcess(), done: make(chan struct{})}
	p.html, p.policy = assemble()
	p.registry.setUp()
	return p
}

func thisProcess() process {
	host, _ := os.Hostname() // without one there is one word less to show
	return process{
		Command: filepath.Base(os.Args[0]), Host: host, PID: os.Getpid(), Go: runtime.Version(), Started: timestamp(time.Now()),
	}
}

// made reports whether p came from New.
func (p *Page) made() bool { return p != nil && p.done != nil }

// Hooks returns the hooks for a throttle's Config; [throttle.JoinHooks] joins them with others. Several throttles may share them. Only
// Created and Closed are set: the page reads what throttles count anyway, and a call costs the same with it as without.
//
// Throttles of one name are one row. The row goes when the last of them is closed, so close what you let go of: until then the
// page keeps it.
func (p *Page) Hooks() throttle.Hooks {
	if !p.made() {
		return throttle.Hooks{}
	}
	return throttle.Hooks{Created: p.registry.join, Closed: p.registry.leave}
}

// Add shows a source until remove is called. A nil source is not shown.
func (p *Page) Add(s Source) (remove func()) {
	if !p.made() || s == nil {
		return func() {}
	}
	return p.registry.add(s)
}

// Close ends the sampling, all streams, and within ten seconds the answers under way. From then on the page answers 503, and its hooks do
// nothing. It is idempotent, and always returns nil.
func (p *Page) Close() error {
	if !p.made() {
		return nil
	}
	p.ending.Do(func() {
		close(p.done)
		p.audience.end()
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

// ServeHTTP answers with the page, or with what ?format= or the Accept header asks for: json or stream. It may be mounted at any
// path. It answers GET and HEAD only: HEAD with the status and the header that GET would have, but it starts nothing.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.guard(w.Header())
	switch {
	case !p.made():
		http.Error(w, "statusz: this page was not made with New", http.StatusServiceUnavailable)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "statusz: the page can only be read: use GET", http.StatusMethodNotAllowed)
		return
	case p.closed():
		p.refuse(w, errClosed)
		return
	}
	f, err := formatOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", f.contentType())
	switch {
	case r.Method == http.MethodHead:
		p.serveHead(w, r, f)
	case f == formatStream:
		p.serveStream(w, r)
	default:
		p.serveAnswer(w, r, f)
	}
}

// guard sets the headers of every answer.
func (p *Page) guard(h http.Header) {
	if p.made() {
		h.Set("Content-Security-Policy", p.policy)
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
}

// refuse says to come back later.
func (p *Page) refuse(w http.ResponseWriter, why error) {
	w.Header().Set("Retry-After", "10")
	http.Error(w, why.Error(), http.StatusServiceUnavailable)
}

// serveHead answers as GET would now, without a body.
func (p *Page) serveHead(w http.ResponseWriter, r *http.Request, f format) {
	if err := p.audience.refusal(f == formatStream); err != nil {
		p.refuse(w, err)
		return
	}
	switch f {
	case formatStream:
		setStreamHeader(w.Header(), r)
	case formatJSON:
		if _, err := historyOf(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// serveAnswer answers with what has an end: the page or the JSON.
func (p *Page) serveAnswer(w http.ResponseWriter, r *http.Request, f format) {
	leave, err := p.audience.answer()
	if err != nil {
		p.refuse(w, err)
		return
	}
	defer leave()
	if f == formatJSON {
		p.serveJSON(w, r)
		return
	}
	_ = p.deliveryTo(w).write(p.html, nil) // whoever asked may be gone
}

// serveJSON answers with the latest sample, or waits for the first.
func (p *Page) serveJSON(w http.ResponseWriter, r *http.Request) {
	withHistory, err := historyOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, leave, err := p.audience.enter(false, p.newSampler, p.done)
	if err != nil {
		p.refuse(w, err)
		return
	}
	defer leave()
	latest := p.first(r.Context(), s)
	if latest == nil {
		p.refuse(w, errClosed) // or the client is gone, and nobody reads this
		return
	}
	encoded := latest.document
	if withHistory {
		encoded = latest.history
	}
	number := latest.event.number // alone: the event leads to all that come after it
	late := func() bool { return s.isAhead(number) }
	_ = p.deliveryTo(w).write(encoded(), late) // whoever asked may be gone
}

func (p *Page) newSampler() *sampler { return newSampler(&p.registry, p.process) }

// first returns the latest sample, once there is one. There is none if the request or the page ends before.
func (p *Page) first(ctx context.Context, s *sampler) *sample {
	latest := s.latest.Load()
	if latest.document != nil {
		return latest
	}
	select {
	case <-latest.event.ready:
		return s.latest.Load()
	case <-ctx.Done():
	case <-p.done:
	}
	return nil
}
