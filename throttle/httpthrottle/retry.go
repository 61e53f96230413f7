package httpthrottle

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// AttemptHeader is the name of the header with the number of an attempt, from 2 on. A [Transport] with Retry
// sends it with each retry, and removes it from first attempts: a proxy may have it from its own client.
const AttemptHeader = "Throttle-Attempt"

// maxDiscarded is how much of a response is read before a retry, so that its connection can be used
// again, and maxDiscarding how long that may take.
const (
	maxDiscarded  = 4 << 10
	maxDiscarding = 50 * time.Millisecond
)

// Retriers returns the retriers of all hosts, for Stats. It returns nil without TransportConfig.Retry.
func (t *Transport) Retriers() *retry.Group {
	if t == nil || t.throttles == nil {
		return nil
	}
	return t.throttles.Retriers
}

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
	first := firstAttempt(r)
	response, recorded, err := t.exchange(th, call, first, run.Priority(), set)
	if response != nil && response.Request == first {
		response.Request = r
	}
	returned := false
	defer func() {
		if !returned && response != nil && response.Body != nil { // Repeatable, GetBody or a hook panicked
			_ = response.Body.Close()
		}
	}()
	for run.Again(retry.Result{Err: recorded, Stop: forbidsRetry(response), Once: recorded != nil && !t.isRepeatable(r)}) {
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
		response, recorded, err = t.exchange(th, call, next.WithContext(call.Context()), run.Priority(), set)
		if response != nil && response.Request != nil {
			response.Request = r
		}
	}
	returned = true
	return response, err
}

// forbidsRetry reports whether a server of gRPC asks for no retry.
func forbidsRetry(r *http.Response) bool {
	if r == nil || !isGRPC(r.Header) {
		return false
	}
	_, stop := protocol.Pushback(grpcValues(r.Header, grpcPushback))
	return stop
}

func (t *Transport) isRepeatable(r *http.Request) bool {
	inMemory := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
	return inMemory && len(r.Trailer) == 0 && t.config.Repeatable(r)
}

func isIdempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, key := r.Header["Idempotency-Key"]
	_, older := r.Header["X-Idempotency-Key"]
	return key || older
}

// firstAttempt returns r, or a copy without the number of an attempt.
func firstAttempt(r *http.Request) *http.Request {
	if _, numbered := r.Header[AttemptHeader]; !numbered {
		return r
	}
	first := r.WithContext(r.Context())
	first.Header = r.Header.Clone()
	delete(first.Header, AttemptHeader)
	return first
}

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
// next attempt. If the rest does not arrive, the connection is given up.
func discard(response *http.Response) {
	if response == nil || response.Body == nil {
		return
	}
	if n := response.ContentLength; n >= 0 && n <= maxDiscarded {
		late := time.AfterFunc(maxDiscarding, func() { _ = response.Body.Close() })
		_, _ = io.Copy(io.Discard, response.Body)
		late.Stop()
	}
	_ = response.Body.Close()
}

func attemptOf(h http.Header) int {
	if words := h[AttemptHeader]; len(words) == 1 {
		return max(1, protocol.ParseAttempt(words[0]))
	}
	return 1
}
