package httpthrottle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// Forward answers a request with the response of a backend: its status, its header without the
// fields that are for one connection only, its body and its trailers. The caller still closes the
// body of the response.
//
// Inside a [Middleware], a forwarded 429, 502, 503 or 504 is Ignored: the backend lacks capacity,
// and this server does not. Any other status counts as if the handler had written it.
//
// Forward returns the error of reading or writing the body. The header is then already written.
// panic([http.ErrAbortHandler]) lets the client notice that the body is incomplete. Forward returns
// an error and writes nothing if there is no response, or if it switches protocols.
func Forward(w http.ResponseWriter, res *http.Response) error {
	switch {
	case res == nil:
		return errors.New("httpthrottle: Forward: the response is nil")
	case res.StatusCode < http.StatusOK || res.StatusCode > 999:
		return fmt.Errorf("httpthrottle: Forward: the status is %d: want 200 to 999", res.StatusCode)
	}
	reportForwarded(w, res, StatusError(res))
	copyHeader(w.Header(), res.Header)
	announced := len(res.Trailer)
	for _, name := range slices.Sorted(maps.Keys(res.Trailer)) {
		w.Header().Add("Trailer", name)
	}
	w.WriteHeader(res.StatusCode)
	if res.ContentLength < 0 {
		_ = http.NewResponseController(w).Flush() // a stream may begin long before its first part
	}
	if err := copyBody(w, res); err != nil {
		return err
	}
	prefix := ""
	if len(res.Trailer) != announced {
		prefix = http.TrailerPrefix // some names were not announced
	}
	for name, values := range res.Trailer {
		w.Header()[prefix+name] = slices.Clone(values)
	}
	return nil
}

// reportForwarded reports to the middlewares around w that the answer repeats the error of res, if
// that is a rejection.
func reportForwarded(w http.ResponseWriter, res *http.Response, err error) {
	if !dependency.IsRejected(err) {
		return
	}
	ctx := context.Background()
	if res.Request != nil {
		ctx = res.Request.Context()
	}
	reportOutside(ctx, w, dependency.Repeat(err))
}

// copyHeader adds the fields of src to dst, except those that are for one connection only.
func copyHeader(dst, src http.Header) {
	skip := []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	}
	for _, line := range src["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			skip = append(skip, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for name, values := range src {
		if !slices.Contains(skip, name) {
			dst[name] = append(dst[name], values...)
		}
	}
}

// copyBody copies the body of a response. A body of unknown length may be a stream, so each part is
// sent at once.
func copyBody(w http.ResponseWriter, res *http.Response) error {
	if res.Body == nil {
		return nil
	}
	var dst io.Writer = w
	if res.ContentLength < 0 {
		dst = flushingWriter{w, http.NewResponseController(w)}
	}
	_, err := io.Copy(dst, res.Body)
	return err
}

type flushingWriter struct {
	io.Writer
	control *http.ResponseController
}

func (w flushingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err == nil {
		_ = w.control.Flush() // a writer that cannot flush sends the body at the end
	}
	return n, err
}

// ErrorHandler is the ErrorHandler of an httputil.ReverseProxy. It answers as [WriteError] does, and
// 502 Bad Gateway if WriteError returns false. It logs nothing.
func ErrorHandler(w http.ResponseWriter, r *http.Request, err error) {
	if !WriteError(w, r, err) {
		w.WriteHeader(http.StatusBadGateway)
	}
}
