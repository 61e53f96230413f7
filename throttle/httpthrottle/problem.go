package httpthrottle

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// WriteError answers a request with 503 Service Unavailable and Retry-After, as a [Middleware]
// does, if a call for the request failed for lack of capacity:
//
//   - A throttle, breaker, bucket or backoff shed it: errors.Is(err, throttle.ErrShed) holds.
//   - By default a throttle counts err as Rejected ([throttle.DefaultClassify]). That includes
//     timeouts, and a [StatusError] of 429, 502, 503 or 504. A delay of the backend becomes
//     Retry-After.
//   - A client of gRPC or Connect returned it, with the code Unavailable, ResourceExhausted or
//     DeadlineExceeded.
//   - The connection to a server was refused or broke: a *[net.OpError] or *[net.DNSError], or the
//     end of the connection in a *[url.Error] of [http.Client].
//
// For any other err it returns false and writes nothing. If the header is already written, it
// returns true and writes nothing.
//
// Inside a Middleware, the answer is Ignored: the dependency lacks capacity, and not this server. If
// this server is out of capacity itself, write 503 without WriteError, or call Tell(err) before: see
// [Middleware].
//
// That works within [http.TimeoutHandler] too, if r is the request of the handler or a copy of it.
// The remote caller's throttle counts the 503 as a rejection.
func WriteError(w http.ResponseWriter, r *http.Request, err error) bool {
	if !lacksCapacity(err) {
		return false
	}
	if own := writerOf(w); own != nil {
		if own.sent.Swap(true) {
			return true // another response was written
		}
		own.Tell(dependency.Repeat(err))
		own.load.set(w.Header(), true)
	} else {
		setMeaning(r.Context(), dependency.Repeat(err))
	}
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified"} { // they describe another body
		w.Header().Del(name)
	}
	setRetryHeaders(w.Header(), http.StatusServiceUnavailable, wholeSeconds(protocol.Delay(err)))
	writeProblem(w, r, http.StatusServiceUnavailable)
	return true
}

func lacksCapacity(err error) bool {
	if err == nil {
		return false
	}
	switch remoteFault(err) {
	case throttle.FaultAvailability, throttle.FaultQuota, throttle.FaultTimeout:
		return true
	}
	return dependency.IsRejected(err) || errors.Is(err, throttle.ErrShed) || throttle.FaultOf(err) == throttle.FaultOther && broken(err)
}

// broken reports whether err is about a connection to a server that was refused or broke.
func broken(err error) bool {
	var request *url.Error
	if errors.As(err, &request) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return true
	}
	var network *net.OpError
	var name *net.DNSError
	return errors.As(err, &network) || errors.As(err, &name)
}

// writerOf returns the writer of the innermost middleware, below any other wrappers of w, or nil.
func writerOf(w http.ResponseWriter) *writer {
	for {
		switch v := w.(type) {
		case interface{ itself() *writer }:
			return v.itself()
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// itself identifies each type of our writers to writerOf.
func (w *writer) itself() *writer { return w }

// setRetryHeaders forbids caching the answer, and adds Retry-After if a retry can help.
func setRetryHeaders(h http.Header, status, seconds int) {
	h.Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// writeProblem writes an answer of RFC 9457. Its text is fixed: callers may be untrusted, so it
// names no throttle and no key.
func writeProblem(w http.ResponseWriter, r *http.Request, status int) {
	detail := "The server could not process this request because of an internal error."
	if status == http.StatusServiceUnavailable {
		detail = "The server has no capacity for this request. Try again after the delay in Retry-After."
	}
	text := fmt.Sprintf("{\"title\":%q,\"status\":%d,\"detail\":%q}\n", http.StatusText(status), status, detail)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text)) // an error means that the client disconnected
	}
}

// wholeSeconds rounds a delay up to seconds, at least 1. With 0 the caller would return at once.
func wholeSeconds(d time.Duration) int {
	return int(max(0, d-1)/time.Second) + 1
}
