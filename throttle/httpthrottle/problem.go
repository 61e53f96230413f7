package httpthrottle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// WriteError answers a request with 503 Service Unavailable and Retry-After, as a [Middleware]
// does, if err is about a lack of capacity:
//
//   - errors.Is(err, throttle.ErrShed) holds: a throttle, breaker, bucket or backoff shed a call
//     for the request,
//   - a backend was unavailable (a faults.AvailabilityFailure). Its delay becomes Retry-After.
//
// For any other err it returns false and writes nothing. If the header is already written, it
// returns true and writes nothing.
//
// Inside a Middleware, the throttle classifies err in place of the status, as
// [throttle.Throttle.Do] does:
//
//   - A call that was shed on the way to a backend is Ignored: it is not a lack of capacity of this
//     server.
//   - An unavailable backend is Rejected, so the throttle also sheds requests that do not need that
//     backend. To prevent this, call Tell(throttle.ErrShed) before: see [Middleware].
//
// That works within [http.TimeoutHandler] too, if r is the request of the handler or a copy of it.
// The remote caller's throttle counts the 503 as a rejection.
func WriteError(w http.ResponseWriter, r *http.Request, err error) bool {
	delay, ok := delayOf(err)
	if !ok {
		return false
	}
	if own := writerOf(w); own != nil {
		if own.sent.Swap(true) {
			return true // another response was written
		}
		own.Tell(err)
	} else {
		setMeaning(r.Context(), err)
	}
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified"} { // they describe another body
		w.Header().Del(name)
	}
	setRetryHeaders(w.Header(), http.StatusServiceUnavailable, wholeSeconds(delay))
	writeProblem(w, r, http.StatusServiceUnavailable)
	return true
}

// delayOf returns the delay before a retry after err, and whether err is about a lack of capacity.
func delayOf(err error) (time.Duration, bool) {
	if failure, ok := faults.AsUnavailable(err); ok {
		if failure == nil { // a typed nil, without a delay
			return defaultRetryAfter, true
		}
		return min(failure.RetryInfo.RetryDelay, maxDelay), true
	}
	var delayed interface{ RetryAfter() time.Duration }
	if shed := errors.Is(err, throttle.ErrShed); !shed || !errors.As(err, &delayed) {
		return defaultRetryAfter, shed
	}
	return min(delayed.RetryAfter(), maxDelay), true
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

// withJitter adds a random number of seconds, at most half as many.
func withJitter(seconds int) int {
	return seconds + rand.IntN(seconds/2+1)
}
