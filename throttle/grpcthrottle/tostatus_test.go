package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/deixis/faults"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// A fault converted to a status and back has the same details.
func TestToStatus_RoundTrip(t *testing.T) {
	for _, tt := range []struct {
		fault error
		code  codes.Code
	}{
		{faults.Unavailable(0), codes.Unavailable},
		{faults.Unavailable(1), codes.Unavailable},
		{faults.Unavailable(3 * time.Second), codes.Unavailable},
		{faults.ResourceExhausted(&faults.QuotaViolation{Subject: "user:7", Description: "ten a day"}), codes.ResourceExhausted},
		{faults.WithResourceExhausted(faults.Unavailable(time.Minute)), codes.ResourceExhausted},
		{faults.Bad(&faults.FieldViolation{Field: "name", Description: "empty"}, &faults.FieldViolation{Field: "age"}), codes.InvalidArgument},
		{faults.Bad(), codes.InvalidArgument},
		{faults.Bad(&faults.FieldViolation{Field: "age"}), codes.InvalidArgument},
		{faults.FailedPrecondition(&faults.PreconditionViolation{Type: "TERMS", Subject: "user:7", Description: "not signed"}), codes.FailedPrecondition},
		{faults.Aborted(&faults.ConflictViolation{Resource: "order:7"}), codes.Aborted},
		{faults.NotFound, codes.NotFound},
		{faults.PermissionDenied, codes.PermissionDenied},
		{faults.Unauthenticated, codes.Unauthenticated},
		{faults.Unimplemented, codes.Unimplemented},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{os.ErrDeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
	} {
		for _, err := range []error{tt.fault, fmt.Errorf("loading: %w", tt.fault)} {
			sent := grpcthrottle.ToStatus(err)
			if status.Code(sent) != tt.code || status.Convert(sent).Message() != err.Error() || !errors.Is(sent, err) || sent.Error() != err.Error() {
				t.Errorf("%v: got %v want code %v, the text, and the error kept", err, status.Convert(sent), tt.code)
			}
			back := grpcthrottle.FromStatus(status.Convert(sent).Err()) // without what does not travel
			if got, want := throttle.FaultOf(back), throttle.FaultOf(err); got != want {
				t.Errorf("%v: got fault %v back want %v", err, got, want)
			}
			if got, want := said(back), said(err); got != want || got == "[[]]" && len(status.Convert(sent).Details()) > 0 {
				t.Errorf("%v: got %q back want %q", err, got, want)
			}
		}
	}
}

func said(err error) string {
	var all []any
	if f, ok := faults.AsUnavailable(err); ok {
		all = append(all, f.RetryInfo)
	}
	if f, ok := faults.AsResourceExhausted(err); ok {
		all = append(all, valuesOf(f.Violations))
	}
	if f, ok := faults.AsBad(err); ok {
		all = append(all, valuesOf(f.Violations))
	}
	if f, ok := faults.AsFailedPrecondition(err); ok {
		all = append(all, valuesOf(f.Violations))
	}
	return fmt.Sprintf("%+v", all)
}

func valuesOf[V any](pointers []*V) (values []V) {
	for _, v := range pointers {
		values = append(values, *v)
	}
	return values
}

func TestToStatusKeeps(t *testing.T) {
	own := status.Error(codes.Aborted, "so it is")
	for _, err := range []error{nil, errors.New("plain"), own, fmt.Errorf("loading: %w", own), okError{}, noStatusError{}, io.EOF} {
		if got := grpcthrottle.ToStatus(err); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", err, err) {
			t.Errorf("got %T %v want the very %v", got, got, err)
		}
	}
	for _, err := range []error{recoded{own, codes.DataLoss}, recoded{faults.NotFound, codes.DataLoss}} {
		if got := grpcthrottle.ToStatus(err); got != err { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v want the very error, whose status is not that of what it wraps", got)
		}
	}
	if got := grpcthrottle.ToStatus(throttle.MarkRejected(own)); got != own { //nolint:errorlint // the very error is wanted
		t.Errorf("marked: got %#v want the mark off", got)
	}
	if got := grpcthrottle.ToStatus(throttle.MarkRejected(okError{})); got == nil {
		t.Error("marked, with a status that cannot be compared: got nil")
	}
	if got := grpcthrottle.ToStatus(throttle.MarkRejected(faults.NotFound)); status.Code(got) != codes.NotFound {
		t.Errorf("marked fault: got %v want NotFound", got)
	}
}

type recoded struct {
	err  error
	code codes.Code
}

func (r recoded) Error() string              { return r.err.Error() }
func (r recoded) Unwrap() error              { return r.err }
func (r recoded) GRPCStatus() *status.Status { return status.New(r.code, r.err.Error()) }

func TestToStatusGarbage(t *testing.T) {
	bad := "caf\xe9"
	for _, err := range []error{
		fmt.Errorf("%s: %w", bad, faults.NotFound),
		faults.Bad(&faults.FieldViolation{Field: bad, Description: bad}),
		faults.ResourceExhausted(&faults.QuotaViolation{Subject: bad, Description: bad}),
		faults.FailedPrecondition(&faults.PreconditionViolation{Type: bad, Subject: bad, Description: bad}),
		fmt.Errorf("%s: %w", bad, faults.Unavailable(time.Second)),
	} {
		s := status.Convert(grpcthrottle.ToStatus(err))
		if !utf8.ValidString(s.Message()) || !strings.Contains(fmt.Sprint(s.Proto()), "\uFFFD") {
			t.Errorf("got %v want text that can be sent", s)
		}
		if code := s.Code(); code != codes.NotFound && len(s.Details()) != 1 {
			t.Errorf("%v: got details %v want one", code, s.Details())
		}
	}
	for _, err := range []error{
		&faults.AvailabilityFailure{RetryInfo: faults.RetryInfo{RetryDelay: math.MaxInt64}}, faults.Unavailable(100 * time.Hour),
	} {
		f, _ := faults.AsUnavailable(grpcthrottle.FromStatus(status.Convert(grpcthrottle.ToStatus(err)).Err()))
		if f.RetryInfo.RetryDelay != time.Hour {
			t.Errorf("got delay %v want 1h0m0s", f.RetryInfo.RetryDelay)
		}
	}
}
