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

// WriteError answers a request with 503 Service Unavailable and Retry-After, as a [Middleware] does, if err says that it could not
// be served for want of capacity: a throttle shed a call on its behalf, or a backend was unavailable (a faults.AvailabilityFailure,
// whose delay the caller is then told). It returns false, and has done nothing, if err is anything else.
//
// Whatever errors.Is(err, throttle.ErrShed) holds for is a shed call, also if a breaker or a bucket refused it. Inside a Middleware the
// throttle is told err itself rather than the status, within [http.TimeoutHandler] too if r is the request that the handler was
// given or a copy of it. So a call that was shed on the way to a backend is Ignored there, as within [throttle.Throttle.Do]: it says
// nothing about this server. For the caller, 503 is a rejection.
func WriteError(w http.ResponseWriter, r *http.Request, err error) bool {
	delay, ok := delayOf(err)
	if !ok {
		return false
	}
	if own := writerOf(w); own != nil {
		if own.sent.Swap(true) {
			return true // too late: the response is another one
		}
		own.Tell(err)
	} else {
		explain(r.Context(), err)
	}
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified"} { // of what would have been served
		w.Header().Del(name)
	}
	announce(w.Header(), http.StatusServiceUnavailable, wholeSeconds(delay))
	writeProblem(w, r, http.StatusServiceUnavailable)
	return true
}

// delayOf returns how long to wait before a retry of what err ended, and whether waiting helps.
func delayOf(err error) (time.Duration, bool) {
	if failure, ok := faults.AsUnavailable(err); ok {
		if failure == nil { // which is one all the same, and no more can be asked of it
			return defaultRetryAfter, true
		}
		return min(failure.RetryInfo.RetryDelay, longestDelay), true
	}
	var knows interface{ RetryAfter() time.Duration }
	if shed := errors.Is(err, throttle.ErrShed); !shed || !errors.As(err, &knows) {
		return defaultRetryAfter, shed
	}
	return min(knows.RetryAfter(), longestDelay), true
}

// writerOf finds the writer of the nearest middleware in w, under whatever others have put around it.
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

// itself is how writerOf knows us in each of our types.
func (w *writer) itself() *writer { return w }

// announce says in the header that the answer is of the moment, and when to come back if that helps.
func announce(h http.Header, status, seconds int) {
	h.Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// writeProblem writes an answer of RFC 9457. It says nothing about the inside: who is shed may be a stranger.
func writeProblem(w http.ResponseWriter, r *http.Request, status int) {
	detail := "The server could not decide about this request."
	if status == http.StatusServiceUnavailable {
		detail = "The server is short of capacity. Retry-After says when to try again."
	}
	text := fmt.Sprintf("{\"title\":%q,\"status\":%d,\"detail\":%q}\n", http.StatusText(status), status, detail)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text)) // who does not listen need not be told
	}
}

// jittered adds up to half of the seconds, at random.
func jittered(seconds int) int {
	return seconds + rand.IntN(seconds/2+1)
}
