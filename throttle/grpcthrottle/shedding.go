package grpcthrottle

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
)

// pushbackKey is the key of the trailer that the retry policies of gRPC clients obey: milliseconds, or a negative number for
// never.
const pushbackKey = "grpc-retry-pushback-ms"

// shedding is what a server tells callers that were shed. It names no throttle: they may be strangers. There is no jitter in it,
// since sheds are spread as the calls were, and stay so when all are moved by the same delay.
type shedding struct {
	status  *status.Status
	trailer metadata.MD
}

func newShedding(retryAfter, pushback time.Duration) *shedding {
	ms := int64(-1)
	if pushback > 0 {
		ms = max(1, pushback.Milliseconds())
	}
	return &shedding{
		status:  newStatus(codes.Unavailable, throttle.ErrShed.Error(), retryInfo(retryAfter)),
		trailer: metadata.Pairs(pushbackKey, strconv.FormatInt(ms, 10)),
	}
}

// answer returns the error that tells the caller of err, and has its trailer told.
func (s *shedding) answer(err error, tell func(metadata.MD)) error {
	if err == nil || !errors.Is(err, throttle.ErrShed) {
		return ToStatus(err)
	}
	tell(s.trailer)
	if hasForeignStatus(err) {
		return ToStatus(err)
	}
	return &statusError{status: s.status, err: err}
}
