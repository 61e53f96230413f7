package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// Served is the context of a call that a server handles, and decides about its outcome. Call
// [Served.Begin] before the handler. Do not copy a Served afterwards.
type Served struct {
	context.Context

	request dependency.Request
	due     deadline
}

// Begin begins a call whose context is ctx.
func (s *Served) Begin(ctx context.Context) {
	s.Context, s.request.Context, s.due = ctx, ctx, deadlineOf(ctx)
}

// Value returns the value for key.
func (s *Served) Value(key any) any {
	if _, ok := key.(dependency.Key); ok {
		return &s.request
	}
	return s.Context.Value(key)
}

// Late reports whether the deadline of the call has passed. A caller that disconnects shortly before
// the deadline counts as late too: it began to wait before the call arrived.
func (s *Served) Late() bool { return s.due.passed(s.Context) }

// Outcome returns the error that the throttle of the server records if the handler answers with err
// now. Give err its fault before. The result is:
//
//   - err, if it is a shed: the handler could not make a call of its own;
//   - an [AbandonedError] if the deadline has passed, or the caller has disconnected;
//   - an error that throttles ignore, in place of an AbandonedError or of an error that counts as
//     rejected, if a call that the handler made was shed, rejected or cancelled;
//   - otherwise err.
func (s *Served) Outcome(err error) error {
	if err != nil && errors.Is(err, throttle.ErrShed) {
		return err
	}
	ended := s.due.ended(s.Context)
	switch {
	case ended == nil:
		return s.request.Outcome(err)
	case s.request.Failed():
		return dependency.Repeat(ended)
	}
	return &AbandonedError{Cause: ended, Err: err}
}

// AbandonedError is the outcome of a call whose caller did not wait for the answer. It does not wrap
// the error of the handler: the caller has not received that, and the cause may have led to it.
type AbandonedError struct {
	Cause error // context.Canceled or context.DeadlineExceeded
	Err   error // of the handler, or nil
}

// Error returns the texts of the cause and of the handler's error.
func (e *AbandonedError) Error() string {
	if e.Err == nil {
		return e.Cause.Error()
	}
	return fmt.Sprintf("%v: %v", e.Cause, e.Err)
}

// Unwrap returns the cause.
func (e *AbandonedError) Unwrap() error { return e.Cause }

// IsDisconnected reports whether err is the outcome of a call whose caller has disconnected before
// its deadline. Such an error is no answer, and is not for Config.Classify.
func IsDisconnected(err error) bool {
	var abandoned *AbandonedError
	return errors.As(err, &abandoned) && errors.Is(abandoned.Cause, context.Canceled)
}

// Report reports err, the error of a call that a client has made or has not admitted, to the server
// whose request needed the call. It does so only if err is a shed, a rejection or a cancellation, and
// if ctx is the context of such a request.
func Report(ctx context.Context, err error) {
	if err == nil {
		return
	}
	if fault := throttle.FaultOf(err); fault == throttle.FaultShed || fault == throttle.FaultCanceled || dependency.IsRejected(err) {
		dependency.Report(ctx, err)
	}
}

// Reporting returns classify, the Classify of a client's Config. It also reports the errors that
// classify counts as rejected. It returns nil for nil.
func Reporting(classify throttle.Classifier) throttle.Classifier {
	if classify == nil {
		return nil
	}
	return func(ctx context.Context, err error) (throttle.Outcome, bool) {
		o, ok := classify(ctx, err)
		if ok && (o == throttle.Rejected || o == throttle.Overloaded) {
			dependency.Report(ctx, err)
		}
		return o, ok
	}
}
