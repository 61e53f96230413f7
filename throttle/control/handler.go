package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/spillway-go/spillway/throttle"
)

// maxBody is the longest body of a POST, in bytes.
const maxBody = 64 << 10

// Authorize returns who sends a request, in at most 500 bytes, or an error if they may not read what is in force (GET) or
// change it (POST). The client gets 403 and no other detail of the error. It must check
// credentials. The address of the client is not enough: a web page can make the browser of an
// operator send the request (DNS rebinding).
type Authorize func(*http.Request) (who string, err error)

var errNoAuthorize = errors.New("control: Handler: Authorize is nil: want a function that returns who sends a request")

// Handler returns an HTTP handler for one process. GET returns [Status] as JSON. POST changes
// lines: the body is a [Document], whose lines replace those of earlier requests for the same name;
// null ends one, and does nothing if there is none of a known name. Each line needs a reason and a time, at most 24 hours: a process that starts again
// has forgotten it. The response is a [Report].
//
//	curl -H 'Content-Type: application/json' -d '{"throttles": {"stock": {"mode": "off", "for": "30m", "reason": "INC-7"}}}' \
//		http://10.0.0.7:9464/debug/throttle/control
//
// Every request is checked by authorize. A POST is refused if it comes from a page of another site,
// if it is not application/json, and if its body has more than 64 KiB. Handler returns an error
// without authorize.
func (c *Control) Handler(authorize Authorize) (http.Handler, error) {
	switch {
	case !c.valid():
		return nil, errNil
	case authorize == nil:
		return nil, errNoAuthorize
	}
	return &handler{control: c, authorize: authorize}, nil
}

type handler struct {
	control   *Control
	authorize Authorize
	sites     http.CrossOriginProtection
}

// ServeHTTP answers GET, HEAD and POST.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := h.sites.Check(r); err != nil {
		http.Error(w, "control: request comes from another site", http.StatusForbidden)
		return
	}
	who, err := h.authorize(r)
	if err != nil || who == "" {
		http.Error(w, "control: not authorized", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		respond(w, h.control.Status())
	case http.MethodPost:
		h.post(w, r, who)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, fmt.Sprintf("control: method is %.40q: want GET or POST", r.Method), http.StatusMethodNotAllowed)
	}
}

func (h *handler) post(w http.ResponseWriter, r *http.Request, who string) {
	report, status, err := h.apply(w, r, who)
	if err != nil {
		h.control.fail(r.Context(), throttle.SourceHTTP, fmt.Errorf("%w (by %.80q)", err, who))
		http.Error(w, err.Error(), status)
		return
	}
	respond(w, report)
}

func (h *handler) apply(w http.ResponseWriter, r *http.Request, who string) (report Report, status int, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return report, http.StatusUnsupportedMediaType, errors.New("control: Content-Type: want application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return report, http.StatusRequestEntityTooLarge, fmt.Errorf("control: body is too long: want at most %d bytes", maxBody)
	case err != nil:
		return report, http.StatusBadRequest, fmt.Errorf("control: body: %w", err)
	}
	d, err := ParseDocument(body)
	if err != nil {
		return report, http.StatusBadRequest, err
	}
	for t := range d.terms {
		if t.By != "" {
			return report, http.StatusBadRequest, errors.New("control: by is set: it is the result of Authorize")
		}
		t.By = who
	}
	report, err = h.control.merge(r.Context(), throttle.SourceHTTP, d, who)
	if errors.Is(err, errClosed) {
		return report, http.StatusServiceUnavailable, err
	}
	return report, http.StatusUnprocessableEntity, err
}

func respond(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
