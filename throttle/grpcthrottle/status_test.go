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
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func detailed(t testing.TB, code codes.Code, details ...protoadapt.MessageV1) error {
	t.Helper()
	s, err := status.New(code, "so it is").WithDetails(details...)
	must(t, err)
	return s.Err()
}

// keeps fails the test unless a conversion leaves these errors as they are.
func keeps(t *testing.T, convert func(error) error, all ...error) {
	t.Helper()
	for _, err := range append(all, nil, io.EOF, errors.New("plain"), okError{}, noStatusError{}) {
		got := convert(err)
		equal(t, "the very error", fmt.Sprintf("%T %v", got, got), fmt.Sprintf("%T %v", err, err))
	}
}

func TestFromStatusKeeps(t *testing.T) {
	keeps(t, grpcthrottle.FromStatus, context.Canceled, status.Error(codes.Internal, "a"), status.Error(codes.Unknown, "a"),
		status.Error(codes.DataLoss, "a"), status.Error(77, "a"), errors.Join(faults.NotFound, status.Error(codes.Unavailable, "a")))
}

func TestFromStatusDelay(t *testing.T) {
	retry := func(d *durationpb.Duration) protoadapt.MessageV1 { return &errdetails.RetryInfo{RetryDelay: d} }
	for _, tt := range []struct {
		name string
		err  error
		want time.Duration
	}{
		{"none", status.Error(codes.Unavailable, "a"), 0},
		{"empty", detailed(t, codes.Unavailable, retry(nil)), 0},
		{"five seconds", detailed(t, codes.Unavailable, retry(durationpb.New(5*time.Second))), 5 * time.Second},
		{"behind others", detailed(t, codes.Unavailable, &errdetails.Help{}, retry(durationpb.New(time.Second))), time.Second},
		{"first of two", detailed(t, codes.Unavailable, retry(durationpb.New(1)), retry(durationpb.New(2))), 1},
		{"negative", detailed(t, codes.Unavailable, retry(durationpb.New(-1))), 0},
		{"for ever", detailed(t, codes.Unavailable, retry(&durationpb.Duration{Seconds: math.MaxInt64})), time.Hour},
		{"garbage", status.FromProto(&spb.Status{Code: int32(codes.Unavailable), Details: []*anypb.Any{
			{TypeUrl: "type.googleapis.com/google.rpc.RetryInfo", Value: []byte("\xff\xff")}, {TypeUrl: "nothing"}, nil,
		}}).Err(), 0},
	} {
		f, ok := faults.AsUnavailable(grpcthrottle.FromStatus(tt.err))
		if !ok || f.RetryInfo.RetryDelay != tt.want {
			t.Errorf("%s: got %v want %v", tt.name, f, tt.want)
		}
	}
	exhausted := grpcthrottle.FromStatus(detailed(t, codes.ResourceExhausted, retry(durationpb.New(time.Second))))
	f, ok := faults.AsUnavailable(exhausted)
	if throttle.FaultOf(exhausted) != throttle.FaultQuota || !ok || f.RetryInfo.RetryDelay != time.Second {
		t.Errorf("got %v want a quota fault, and an availability fault with the delay in it", exhausted)
	}
	if bare := grpcthrottle.FromStatus(status.Error(codes.ResourceExhausted, "a")); faults.IsUnavailable(bare) {
		t.Errorf("got %v want no availability fault without a delay", bare)
	}
}

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
			received := status.Convert(sent).Err() // without what does not travel
			back := grpcthrottle.FromStatus(received)
			if got, want := throttle.FaultOf(back), throttle.FaultOf(err); got != want || status.Code(back) != tt.code || !errors.Is(back, received) {
				t.Errorf("%v: got fault %v and code %v back want %v, %v", err, got, status.Code(back), want, tt.code)
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
	keeps(t, grpcthrottle.ToStatus, own, fmt.Errorf("loading: %w", own))
	for _, err := range []error{recoded{own, codes.DataLoss}, recoded{faults.NotFound, codes.DataLoss}} {
		if got := grpcthrottle.ToStatus(err); got != err { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v want the very error, whose status is not that of what it wraps", got)
		}
	}
	shed := &throttle.ShedError{Throttle: "secret", Key: "secret-host"} // such as the address of a backend
	for _, err := range []error{shed, fmt.Errorf("orders of secret-tenant: %w", throttle.ErrShed), grpcthrottle.ToStatus(shed)} {
		wantShed(t, "a shed, whose status names no key", grpcthrottle.ToStatus(err), time.Second)
	}
	if got := grpcthrottle.ToStatus(throttle.MarkRejected(own)); got != own { //nolint:errorlint // the very error is wanted
		t.Errorf("marked: got %#v want the mark off", got)
	}
	if got := grpcthrottle.ToStatus(throttle.MarkRejected(okError{})); got == nil {
		t.Error("marked, with a status that cannot be compared: got nil")
	}
	equal(t, "marked fault", status.Code(grpcthrottle.ToStatus(throttle.MarkRejected(faults.NotFound))), codes.NotFound)
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
		equal(t, "delay", f.RetryInfo.RetryDelay, time.Hour)
	}
}
