// Package dependency separates servers that lack capacity from servers whose dependency does. A
// throttled client reports each call that it sheds, or that the backend rejects, to the server
// whose request needed the call. The throttle of the server then ignores an answer that repeats the
// failure: this server has capacity.
package dependency

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// Key is the context key of the [Server] that handles a request. A server stores itself in a
// context of its own.
type Key struct{}

// Server is a server's handling of one request.
type Server interface {
	// DependencyFailed records err, the error of a call that was made for the request: the call was
	// shed, rejected or cancelled. If this server runs inside another one, it calls [Report] with
	// the context of that one. It may be called at any time, also after the request has ended, and
	// from several goroutines.
	DependencyFailed(err error)
}

// Report reports to the server around ctx, if there is one, that a dependency failed with err.
func Report(ctx context.Context, err error) {
	if server, ok := ctx.Value(Key{}).(Server); ok {
		server.DependencyFailed(err)
	}
}

// ReportAnswer reports err, the error of a call that a client has made, if it counts as a failure
// of the dependency: a rejection, a cancellation, or a shed further down.
func ReportAnswer(ctx context.Context, err error) {
	if err == nil {
		return
	}
	if fault := throttle.FaultOf(err); fault == throttle.FaultShed || fault == throttle.FaultCanceled || IsRejected(err) {
		Report(ctx, err)
	}
}

// ReportingRejections returns a Classifier for a client. It is classify, and also reports the
// errors that classify rejects.
func ReportingRejections(classify throttle.Classifier) throttle.Classifier {
	if classify == nil {
		return nil
	}
	return func(ctx context.Context, err error) (throttle.Outcome, bool) {
		o, ok := classify(ctx, err)
		if ok && (o == throttle.Rejected || o == throttle.Overloaded) {
			Report(ctx, err)
		}
		return o, ok
	}
}

// IsRejected reports whether err counts as Rejected by default.
func IsRejected(err error) bool {
	return throttle.DefaultClassify(context.Background(), err) == throttle.Rejected
}

// First is the first failure of a dependency that was reported for a request.
type First struct{ err atomic.Pointer[error] }

// Add adds a reported failure, and reports it to the server around ctx. A cancelled call counts only
// if the request has ended, that is ctx: a handler may cancel one of several calls.
func (f *First) Add(ctx context.Context, err error) {
	if throttle.FaultOf(err) != throttle.FaultCanceled || ctx.Err() != nil {
		f.err.CompareAndSwap(nil, &err)
	}
	Report(ctx, err)
}

// Failed reports whether a dependency failed.
func (f *First) Failed() bool { return f.err.Load() != nil }

// Outcome returns the error to classify for a request that the server answers with err: if that is
// a rejection and a dependency failed, an error that repeats the failure.
func (f *First) Outcome(err error) error {
	if failed := f.err.Load(); failed != nil && IsRejected(err) {
		return Repeat(*failed)
	}
	return err
}
