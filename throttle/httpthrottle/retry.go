package httpthrottle

import (
	"io"
	"net/http"
	"strconv"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// AttemptHeader is the name of the header with the number of an attempt, from 2 on. A [Transport]
// sends it with each retry. First attempts have no such header.
const AttemptHeader = "Throttle-Attempt"

const (
	// maxAttempt is the highest number of an attempt that a server reads. More is not valid.
	maxAttempt = 99
	// maxDiscarded is how much of a response is read before a retry, so that its connection can be
	// used again.
	maxDiscarded = 4 << 10
)

// Retriers returns the retriers of all hosts, for Stats. It returns nil without TransportConfig.Retry.
func (t *Transport) Retriers() *retry.Group { return t.throttles.Retriers }

// retrying sends a request up to Attempts times. It returns the response and the error of the last
// attempt. Every body but that of the returned response is closed.
func (t *Transport) retrying(
	th *throttle.Throttle, retrier *retry.Retrier, r *http.Request, p throttle.Priority, set bool,
) (*http.Response, error) {
	run := retrier.Begin(r.Context(), p)
	call, err := run.Admit()
	if err != nil {
		return nil, notAdmitted(r, err)
	}
	response, recorded, err := t.exchange(th, call, r, t.headerFor(r, run.Priority(), set))
	for run.Again(retry.Result{Err: recorded, Once: recorded != nil && !t.isRepeatable(r)}) {
		next, bodyErr := nextAttempt(r, &run)
		if bodyErr != nil {
			run.Abandon(retry.ReasonOnce)
			break
		}
		call, shed := run.Admit()
		if shed != nil {
			_ = unsent(next, shed)
			break
		}
		discard(response)
		response, recorded, err = t.exchange(th, call, next.WithContext(call.Context()), t.headerFor(r, run.Priority(), set))
		if response != nil && response.Request != nil {
			response.Request = r
		}
	}
	return response, err
}

// isRepeatable reports whether a request may be sent again, and can be.
func (t *Transport) isRepeatable(r *http.Request) bool {
	inMemory := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
	return inMemory && len(r.Trailer) == 0 && t.mayRepeat(r)
}

// isIdempotent is the default of TransportConfig.Repeatable.
func isIdempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, key := r.Header["Idempotency-Key"]
	_, older := r.Header["X-Idempotency-Key"]
	return key || older
}

// nextAttempt returns the request of a retry, with a new body and its number in the header.
func nextAttempt(r *http.Request, run *retry.Run) (*http.Request, error) {
	next := r.WithContext(run.Context())
	if r.Body != nil && r.Body != http.NoBody {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		next.Body = body
	}
	next.Header = r.Header.Clone()
	if next.Header == nil {
		next.Header = http.Header{}
	}
	next.Header.Set(AttemptHeader, strconv.Itoa(run.Attempt()))
	return next, nil
}

// discard reads the rest of a short response and closes it, so that its connection is free for the
// next attempt.
func discard(response *http.Response) {
	if response == nil || response.Body == nil {
		return
	}
	if n := response.ContentLength; n >= 0 && n <= maxDiscarded {
		_, _ = io.Copy(io.Discard, response.Body)
	}
	_ = response.Body.Close()
}

// attemptOf returns the number in the AttemptHeader, from 2 to maxAttempt, or 1 if it has none.
func attemptOf(h http.Header) int {
	words := h[AttemptHeader]
	if len(words) != 1 {
		return 1
	}
	n, err := strconv.ParseUint(words[0], 10, 8)
	if err != nil || n < 1 || n > maxAttempt || words[0][0] == '0' {
		return 1
	}
	return int(n)
}

// arrived counts a retry that a sender has marked, and lowers its priority if the config allows it.
func (m *middleware) arrived(t *throttle.Throttle, in incoming, number int) incoming {
	in.ctx = retry.WithAttempt(in.ctx, retry.Attempt{Number: number, Throttle: t})
	if m.LowerRetries && !in.fixed && in.priority >= 0 && int(in.priority) < t.Priorities()-1 {
		in.priority++
		in.ctx = throttle.WithPriority(in.ctx, in.priority)
	}
	if h := m.RetryHooks.Arrived; h != nil {
		h(in.ctx, retry.ArrivalEvent{Name: t.Name(), Attempt: number})
	}
	return in
}
