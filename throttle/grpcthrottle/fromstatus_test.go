package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

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

func TestFromStatus_Unchanged(t *testing.T) {
	for _, err := range []error{
		nil, io.EOF, context.Canceled, errors.New("plain"), status.Error(codes.Internal, "a"), status.Error(codes.Unknown, "a"),
		status.Error(codes.DataLoss, "a"), status.Error(77, "a"),
		okError{},
		noStatusError{},
		errors.Join(faults.NotFound, status.Error(codes.Unavailable, "a")),
	} {
		if got := grpcthrottle.FromStatus(err); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", err, err) {
			t.Errorf("got %T %v want the very %v", got, got, err)
		}
	}
}

func TestFromStatusKeepsTheStatus(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		own := status.Error(code, "so it is")
		for _, err := range []error{own, fmt.Errorf("loading: %w", own)} {
			got := grpcthrottle.FromStatus(err)
			if status.Code(got) != code || !errors.Is(got, own) || !errors.Is(got, err) {
				t.Errorf("%v: got %v want code and error kept", code, got)
			}
			if throttle.FaultOf(got) == throttle.FaultOther && !slices.Contains([]codes.Code{codes.Internal, codes.Unknown, codes.DataLoss}, code) {
				t.Errorf("%v: got no fault", code)
			}
		}
	}
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
