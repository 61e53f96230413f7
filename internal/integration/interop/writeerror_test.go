package interop

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// code has the method of an error of Connect, with another meaning.
type code uint32

type foreignError struct{}

func (foreignError) Error() string { return "foreign" }
func (foreignError) Code() code    { return code(codes.Unavailable) }

type strangeError struct{}

func (strangeError) Error() string            { return "strange" }
func (strangeError) Code(int) code            { return code(codes.Unavailable) }
func (strangeError) GRPCStatus() (int, error) { return int(codes.Unavailable), nil }

// TestWriteError_remoteCodes answers 503 if a backend of gRPC or Connect has no capacity, and nothing else.
func TestWriteError_remoteCodes(t *testing.T) {
	cause := errors.New("cause")
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{status.Error(codes.ResourceExhausted, "full"), true},
		{status.Error(codes.Unavailable, "down"), true},
		{status.Error(codes.DeadlineExceeded, "late"), true},
		{fmt.Errorf("pay: %w", status.Error(codes.ResourceExhausted, "full")), true},
		{errors.Join(cause, fmt.Errorf("pay: %w", status.Error(codes.Unavailable, "down"))), true},
		{connect.NewError(connect.CodeUnavailable, cause), true},
		{fmt.Errorf("pay: %w", connect.NewError(connect.CodeResourceExhausted, cause)), true},
		{status.Error(codes.InvalidArgument, "wrong"), false},
		{status.Error(codes.Canceled, "gone"), false},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)"), false},
		{connect.NewError(connect.CodeNotFound, cause), false},
		{(*connect.Error)(nil), false},
		{foreignError{}, false},
		{strangeError{}, false},
		{&foreignError{}, false},
		{cause, false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		if got := httpthrottle.WriteError(w, r, tt.err); got != tt.want || got && (w.Code != 503 || w.Header().Get("Retry-After") == "") {
			t.Errorf("%T %+[1]q: got %v, status %d want %v", tt.err, got, w.Code, tt.want)
		}
	}
}
