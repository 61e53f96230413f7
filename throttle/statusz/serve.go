package statusz

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ServeHTTP answers with the page, or with the format that ?format= or the Accept header names:
// html, json or stream. The page may be mounted at any path. Only GET and HEAD are allowed. HEAD
// returns the status and header of GET and starts no sampling. The handler of [Page.Control] answers
// the format control, and that of [Page.Runbooks] the format runbooks.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.setHeaders(w.Header())
	switch {
	case !p.valid():
		http.Error(w, "statusz: the Page is nil or was not made with New", http.StatusServiceUnavailable)
		return
	case p.closed():
		unavailable(w, errClosed)
		return
	case p.serveHandler(w, r):
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("statusz: method is %.40q: want GET or HEAD", r.Method), http.StatusMethodNotAllowed)
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
		p.serveDocument(w, r, f)
	}
}

// serveHandler lets the handler of Control or Runbooks answer, if the request is for it.
func (p *Page) serveHandler(w http.ResponseWriter, r *http.Request) bool {
	var h *http.Handler
	switch r.URL.Query().Get("format") {
	case "control":
		h = p.controls.Load()
	case "runbooks":
		h = p.runbooks.Load()
	}
	if h == nil {
		return false
	}
	(*h).ServeHTTP(w, r)
	return true
}

func (p *Page) setHeaders(h http.Header) {
	if p.valid() {
		h.Set("Content-Security-Policy", p.csp)
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
}

// unavailable answers 503 with err and a Retry-After header.
func unavailable(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "10")
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// serveHead answers as GET would now, without a body.
func (p *Page) serveHead(w http.ResponseWriter, r *http.Request, f format) {
	if err := p.subscribers.check(f == formatStream); err != nil {
		unavailable(w, err)
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

// serveDocument answers with the page or with JSON.
func (p *Page) serveDocument(w http.ResponseWriter, r *http.Request, f format) {
	end, err := p.subscribers.beginResponse()
	if err != nil {
		unavailable(w, err)
		return
	}
	defer end()
	if f == formatJSON {
		p.serveJSON(w, r)
		return
	}
	_ = p.newChunkWriter(w).write(p.document(), nil) // the client may have disconnected
}

// document returns the page, with its controls and with a link to the runbooks, if there are some.
func (p *Page) document() []byte {
	html := p.html
	if p.controls.Load() != nil {
		html = bytes.Replace(html, []byte("<body>"), []byte("<body data-control>"), 1)
	}
	if p.runbooks.Load() != nil {
		at := bytes.LastIndex(html, []byte("</p>\n</footer>"))
		html = slices.Insert(slices.Clone(html), at, []byte(` · <a href="?format=runbooks">runbooks</a>`)...)
	}
	return html
}

func (p *Page) serveJSON(w http.ResponseWriter, r *http.Request) {
	withHistory, err := historyOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, unsubscribe, err := p.subscribers.subscribe(false, p.newSampler, p.done)
	if err != nil {
		unavailable(w, err)
		return
	}
	defer unsubscribe()
	latest := p.firstSample(r.Context(), s)
	if latest == nil {
		unavailable(w, errClosed) // or the client has disconnected
		return
	}
	encoded := latest.document
	if withHistory {
		encoded = latest.history
	}
	number := latest.event.number // a reference to the event would keep all later events in memory
	late := func() bool { return s.lagsBehind(number) }
	_ = p.newChunkWriter(w).write(encoded(), late) // the client may have disconnected
}

// firstSample returns the latest sample, and waits for the first if there is none yet. It returns
// nil if the request or the page ends before.
func (p *Page) firstSample(ctx context.Context, s *sampler) *sample {
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

// format is the representation that a request asks for. If several are equally preferred, the
// lowest one is used.
type format int

const (
	formatHTML format = iota
	formatJSON
	formatStream

	numFormats = iota
)

func (f format) contentType() string {
	return [numFormats]string{
		"text/html; charset=utf-8", "application/json; charset=utf-8", "text/event-stream; charset=utf-8",
	}[f]
}

// formatOf returns the format of ?format=. Without it, the Accept header decides; the default is
// HTML.
func formatOf(r *http.Request) (format, error) {
	query := r.URL.Query()
	if !query.Has("format") {
		return acceptedFormat(r.Header.Values("Accept")), nil
	}
	value := query.Get("format")
	switch value {
	case "html", "":
		return formatHTML, nil
	case "json":
		return formatJSON, nil
	case "stream":
		return formatStream, nil
	}
	return 0, fmt.Errorf("statusz: format is %.40q: want html, json or stream", value)
}

// historyOf reports whether ?history= asks for the history.
func historyOf(r *http.Request) (bool, error) {
	query := r.URL.Query()
	if !query.Has("history") {
		return false, nil
	}
	value := query.Get("history")
	wanted, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("statusz: history is %.40q: want 1 or 0", value)
	}
	return wanted, nil
}

// acceptedFormat returns the format that the Accept header prefers. Of two formats with the same
// quality, the one with the more specific media range wins: "application/json, */*" means JSON. A
// quality of 0 means that the client does not want it.
func acceptedFormat(header []string) format {
	var qualities, specificities [numFormats]float64
	for _, item := range strings.Split(strings.Join(header, ","), ",") {
		mediaRange, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q >= 0 && q <= 1 {
			quality = q
		}
		for f := range format(numFormats) {
			if s := f.specificity(mediaRange); s > specificities[f] {
				qualities[f], specificities[f] = quality, s
			}
		}
	}
	best := formatHTML
	for f := range format(numFormats) {
		q := qualities[f]
		if q > qualities[best] || q > 0 && q == qualities[best] && specificities[f] > specificities[best] {
			best = f
		}
	}
	return best
}

// specificity returns how exactly a media range matches f: 3 for the type itself, 2 for its main
// type, 1 for */*, 0 for no match.
func (f format) specificity(mediaRange string) float64 {
	own, _, _ := strings.Cut(f.contentType(), ";")
	mainType, _, _ := strings.Cut(own, "/")
	switch mediaRange {
	case own:
		return 3
	case mainType + "/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}
