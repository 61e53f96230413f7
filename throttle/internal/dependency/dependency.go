// Package dependency separates servers that lack capacity from servers whose dependency does. A
// throttled client reports each call that it sheds, or that the backend rejects, to the server
// whose request needed the call. The throttle of the server then ignores an answer that repeats the
// failure: this server has capacity.
package dependency

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// Key is the context key of the [Request] that a server handles. A server stores it in a context of its own.
type Key struct{}

// Request is a request that a server handles. It has the first failure of a dependency.
type Request struct {
	Context context.Context // of the request

	first atomic.Pointer[error]
}

// Report reports err, the error of a call that was made for a request, to the server around ctx and to those
// around that one: the call was shed, rejected or cancelled. A cancelled call counts only if the request has
// ended: a handler may cancel one of several calls. Report may be called at any time, also after the request
// has ended, and from several goroutines.
func Report(ctx context.Context, err error) {
	for {
		r, ok := ctx.Value(Key{}).(*Request)
		if !ok {
			return
		}
		if throttle.FaultOf(err) != throttle.FaultCanceled || r.Context.Err() != nil {
			r.fail(err)
		}
		ctx = r.Context
	}
}

// fail is a function of its own so that Report does not allocate.
func (r *Request) fail(err error) { r.first.CompareAndSwap(nil, &err) }

// IsRejected reports whether err counts as Rejected by default.
func IsRejected(err error) bool {
	return throttle.DefaultClassify(context.Background(), err) == throttle.Rejected
}

// Failed reports whether a dependency failed.
func (r *Request) Failed() bool { return r.first.Load() != nil }

// Outcome returns the error to classify for a request that the server answers with err: if that is
// a rejection and a dependency failed, an error that repeats the failure.
func (r *Request) Outcome(err error) error {
	if failed := r.first.Load(); failed != nil && IsRejected(err) {
		return Repeat(*failed)
	}
	return err
}

// repeatedError is the error of an answer that repeats the failure of a dependency. Throttles
// ignore it.
type repeatedError struct{ err, kind error }

// Error returns the text of the failure.
func (e *repeatedError) Error() string {
	return fmt.Sprintf("a dependency failed: %v", e.err) // err may be a typed nil
}

// Unwrap returns the fault, and the shed that throttles ignore.
func (e *repeatedError) Unwrap() []error { return []error{e.kind, throttle.ErrShed} }

// Repeat returns the error that the throttle of a server records if its answer repeats err. It has
// the fault of err. It does not wrap err, which may have a mark of throttle.MarkRejected.
func Repeat(err error) error {
	switch throttle.FaultOf(err) {
	case throttle.FaultShed:
		if !IsRejected(err) { // by its mark
			return err
		}
		return &repeatedError{err, throttle.ErrShed}
	case throttle.FaultQuota:
		return &repeatedError{err, faults.ResourceExhausted()}
	case throttle.FaultTimeout:
		return &repeatedError{err, context.DeadlineExceeded}
	case throttle.FaultCanceled:
		return &repeatedError{err, context.Canceled}
	}
	return &repeatedError{err, faults.Unavailable(0)}
}
