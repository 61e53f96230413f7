package connectthrottle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func TestFromError_Delay(t *testing.T) {
	for name, tt := range map[string]struct {
		header, value string
		detail        *durationpb.Duration
		want          time.Duration
		delayed       bool
	}{
		"none":             {},
		"header":           {"Retry-After", "7", nil, 7 * time.Second, true},
		"header, too long": {"Retry-After", "99999", nil, time.Hour, true},
		"pushback":         {"Grpc-Retry-Pushback-Ms", "1500", nil, 1500 * time.Millisecond, true},
		"retry at once":    {"Grpc-Retry-Pushback-Ms", "0", nil, 0, false},
		"detail":           {"Retry-After", "7", durationpb.New(time.Minute), time.Minute, true},
		"detail, too long": {"", "", durationpb.New(2 * time.Hour), time.Hour, true},
		"detail, negative": {"", "", durationpb.New(-time.Hour), 0, true},
	} {
		for _, code := range []connect.Code{connect.CodeUnavailable, connect.CodeResourceExhausted} {
			err := connect.NewWireError(code, errors.New("no"))
			if tt.header != "" {
				err.Meta().Set(tt.header, tt.value)
			}
			if tt.detail != nil {
				detail, detailErr := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: tt.detail})
				must(t, detailErr)
				err.AddDetail(detail)
			}
			got := connectthrottle.FromError(err)
			fault, ok := faults.AsUnavailable(got)
			if want := tt.delayed || code == connect.CodeUnavailable; ok != want || ok && fault.RetryInfo.RetryDelay != tt.want {
				t.Errorf("%s, %v: got %+v want a delay of %v", name, code, fault, tt.want)
			}
			if connect.CodeOf(got) != code {
				t.Errorf("%s: got code %v want %v", name, connect.CodeOf(got), code)
			}
		}
	}
	own := connect.NewError(connect.CodeUnavailable, errors.New("busy")) // of a handler, whose metadata is not read
	own.Meta().Set("Retry-After", "7")
	if fault, ok := faults.AsUnavailable(connectthrottle.FromError(own)); !ok || fault.RetryInfo.RetryDelay != 0 {
		t.Errorf("an error of a handler: got %+v want no delay", fault)
	}
}

func TestFromError_Unchanged(t *testing.T) {
	for _, err := range []error{
		nil, errors.New("plain"), connect.NewError(connect.CodeInternal, errors.New("no")), faults.NotFound,
		connect.NewError(connect.CodeUnavailable, faults.NotFound), (*connect.Error)(nil),
	} {
		if got := connectthrottle.FromError(err); got != err { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v want %v", got, err)
		}
	}
}

func TestToError(t *testing.T) {
	for code, err := range map[connect.Code]error{
		connect.CodeUnavailable: faults.Unavailable(time.Minute), connect.CodeResourceExhausted: faults.ResourceExhausted(),
		connect.CodeUnauthenticated: faults.Unauthenticated, connect.CodePermissionDenied: faults.PermissionDenied,
		connect.CodeInvalidArgument: faults.Bad(), connect.CodeAborted: faults.Aborted(), connect.CodeNotFound: faults.NotFound,
		connect.CodeFailedPrecondition: faults.FailedPrecondition(), connect.CodeUnimplemented: faults.Unimplemented,
		connect.CodeDeadlineExceeded: context.DeadlineExceeded, connect.CodeCanceled: context.Canceled,
		connect.CodeUnknown:  errors.New("plain"),
		connect.CodeDataLoss: throttle.MarkRejected(connect.NewError(connect.CodeDataLoss, errors.New("gone"))),
	} {
		got := connectthrottle.ToError(err)
		if connect.CodeOf(got) != code || !errors.Is(got, err) {
			t.Errorf("got %v want %v of %v", got, code, err)
		}
		if fault := throttle.FaultOf(connectthrottle.FromError(got)); fault != throttle.FaultOf(err) {
			t.Errorf("%v: got fault %v want %v", code, fault, throttle.FaultOf(err))
		}
	}
	for _, own := range []error{nil, connect.NewError(connect.CodeAborted, throttle.ErrShed)} { // with a code of its own
		if got := connectthrottle.ToError(own); got != own { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v want %v", got, own)
		}
	}
	delayed := connectthrottle.ToError(faults.Unavailable(time.Minute)).(*connect.Error) //nolint:errorlint // made above
	if got := delayed.Meta().Get("Retry-After"); got != "60" || len(delayed.Details()) != 1 {
		t.Errorf("got %q, %v want 60, and a RetryInfo", got, delayed.Details())
	}
}
