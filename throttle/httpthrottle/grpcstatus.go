package httpthrottle

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

const (
	grpcStatus   = "Grpc-Status"            // the code of a call, in the trailer, or in the header if there is no message
	grpcPushback = "Grpc-Retry-Pushback-Ms" // delays or forbids retries
)

const grpcNames = `OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied
	ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`

// grpcError is the error of a call of gRPC or gRPC-Web. Its HTTP status is 200.
type grpcError struct {
	code  uint32
	fault error
}

func (e *grpcError) Error() string { return "httpthrottle: gRPC status " + grpcName(e.code) }
func (e *grpcError) Unwrap() error { return e.fault }

var errGRPC = errors.New("httpthrottle: a call of gRPC failed")

func grpcName(code uint32) string {
	if names := strings.Fields(grpcNames); int64(code) < int64(len(names)) {
		return names[code]
	}
	return strconv.FormatUint(uint64(code), 10)
}

// isGRPC reports whether the media type is that of gRPC or gRPC-Web, such as application/grpc+proto. Its case does not
// matter.
func isGRPC(h http.Header) bool {
	const kind = "application/grpc"
	values := h["Content-Type"]
	if len(values) == 0 || len(values[0]) < len(kind) || !strings.EqualFold(values[0][:len(kind)], kind) {
		return false
	}
	rest, _, _ := strings.Cut(values[0][len(kind):], ";")
	rest, _, _ = strings.Cut(strings.TrimRight(rest, " \t"), "+")
	return rest == "" || strings.EqualFold(rest, "-web") || strings.EqualFold(rest, "-web-text")
}

func hasGRPCStatus(h http.Header) bool { return grpcValue(h, grpcStatus) != "" }

// grpcValues returns the values of a field of a header or trailer. A handler may announce its trailers, or
// write them with the prefix of [http.TrailerPrefix].
func grpcValues(h http.Header, field string) []string {
	if values := h[field]; len(values) > 0 {
		return values
	}
	return h[http.TrailerPrefix+field]
}

func grpcValue(h http.Header, field string) string {
	if values := grpcValues(h, field); len(values) > 0 {
		return values[0]
	}
	return ""
}

// grpcStatusError returns the error for the code in a header or trailer, or nil if there is none or
// it is OK.
func grpcStatusError(h http.Header) error {
	code, err := strconv.ParseUint(grpcValue(h, grpcStatus), 10, 32)
	if err != nil || code == 0 {
		return nil
	}
	kind := protocol.FaultOfCode(uint32(code), grpcValue(h, "Grpc-Message"))
	fault := protocol.WithFault(errGRPC, kind)
	if delay, _ := protocol.Pushback(grpcValues(h, grpcPushback)); delay > 0 {
		delayed := faults.WithUnavailable(errGRPC, min(delay, protocol.MaxDelay))
		switch kind {
		case throttle.FaultAvailability:
			fault = delayed
		case throttle.FaultQuota:
			fault = faults.WithResourceExhausted(delayed)
		}
	}
	return &grpcError{code: uint32(code), fault: fault}
}
