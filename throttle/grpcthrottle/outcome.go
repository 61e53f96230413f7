package grpcthrottle

import (
	"context"
	"errors"
	"io"

	"github.com/deixis/faults"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/deadline"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// clientOutcome returns the error that the throttle classifies for the error of a client's call. An
// EOF without a status is a rejection. gRPC loses the status if its last retry ends while sending,
// and it retries only calls that the backend could not serve.
func clientOutcome(err error) error {
	if errors.Is(err, io.EOF) && !hasStatus(err) && throttle.FaultOf(err) == throttle.FaultOther {
		return faults.WithUnavailable(err, 0)
	}
	return FromStatus(err)
}

// served is the context of a call that a server handles, and what decides about its outcome.
type served struct {
	dependency.Context

	due deadline.Deadline
}

// outcome returns the error that the throttle classifies for the error of a handler that ends now.
// A shed of a call that the handler made is not about this server, whenever it comes. Nor is
// another failed call that the handler made.
func (s *served) outcome(err error) error {
	if err != nil && isShed(err) {
		return err
	}
	ended := s.due.Ended(s)
	switch {
	case ended == nil:
		return s.Outcome(FromStatus(err))
	case s.Failed():
		return dependency.Repeat(ended)
	}
	return &abandonedError{cause: ended, err: err}
}

// abandonedError is the outcome of a call whose caller did not wait for the end. The cause is
// context.Canceled or context.DeadlineExceeded. It does not wrap the error of the handler, because
// the caller has not received that, and the cause may have led to it.
type abandonedError struct{ cause, err error }

// Error returns the texts of the cause and of the handler's error.
func (e *abandonedError) Error() string {
	if e.err == nil {
		return e.cause.Error()
	}
	return e.cause.Error() + ": " + e.err.Error()
}

// Unwrap returns the cause.
func (e *abandonedError) Unwrap() error { return e.cause }

// GRPCStatus returns the status for the cause, for Config.Classify.
func (e *abandonedError) GRPCStatus() *status.Status { return status.FromContextError(e.cause) }

// activeError is the error of a stream that its client cancelled while the stream was active. It is
// ignored, however late.
type activeError struct{ err error }

// Error returns the text of the error.
func (e *activeError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *activeError) Unwrap() error { return e.err }

// whileActive wraps an error that throttles ignore, and returns all others unchanged.
func whileActive(err error) error {
	if throttle.DefaultClassify(context.Background(), err) == throttle.Ignored {
		return &activeError{err: err}
	}
	return err
}

// classifier returns the classifier of a throttle, for the Classify of its Config. A panic and the
// error of a handler whose caller has disconnected are not for Classify.
func classifier(classify throttle.Classifier) throttle.Classifier {
	return func(ctx context.Context, err error) (throttle.Outcome, bool) {
		if errors.Is(err, throttle.ErrPanicked) {
			return throttle.Ignored, true
		}
		if classify != nil && !disconnected(err) {
			if o, ok := classify(ctx, err); ok && o < throttle.Shed {
				return o, true
			}
		}
		var active *activeError
		return throttle.Ignored, errors.As(err, &active)
	}
}

// disconnected reports whether err is that of a handler whose caller has disconnected.
func disconnected(err error) bool {
	var abandoned *abandonedError
	return errors.As(err, &abandoned) && errors.Is(abandoned.cause, context.Canceled)
}
