package protocol

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

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
