package httpthrottle

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/deixis/faults"
)

// grpcStatus is the field with the code of a gRPC call. It is a trailer, or in the header if the
// call has no message.
const grpcStatus = "Grpc-Status"

// grpcNames are the names of the codes, from 0.
const grpcNames = `OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied
	ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`

// grpcError is the error of a call of gRPC or gRPC-Web. Its HTTP status is 200.
type grpcError struct {
	code  int
	fault error // nil if the code has none
}

// Error returns the name of the code.
func (e *grpcError) Error() string { return "httpthrottle: gRPC status " + grpcName(e.code) }

// Unwrap returns the fault, or nil.
func (e *grpcError) Unwrap() error { return e.fault }

// grpcName returns the name of a code, or its digits if it has none.
func grpcName(code int) string {
	if names := strings.Fields(grpcNames); code < len(names) {
		return names[code]
	}
	return strconv.Itoa(code)
}

// isGRPC reports whether the header is that of a response of gRPC or gRPC-Web.
func isGRPC(h http.Header) bool {
	values := h["Content-Type"]
	return len(values) > 0 && strings.HasPrefix(values[0], "application/grpc")
}

// hasGRPCStatus reports whether a header or trailer has the code of a call.
func hasGRPCStatus(h http.Header) bool { return grpcValue(h, grpcStatus) != "" }

// grpcValue returns a field of a header or trailer. A handler may announce its trailers, or write
// them with the prefix of [http.TrailerPrefix].
func grpcValue(h http.Header, field string) string {
	for _, values := range [...][]string{h[field], h[http.TrailerPrefix+field]} {
		if len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// grpcStatusError returns the error for the code in a header or trailer, or nil if there is none or
// it is OK.
func grpcStatusError(h http.Header) error {
	code, err := strconv.Atoi(grpcValue(h, grpcStatus))
	if err != nil || code <= 0 {
		return nil
	}
	return &grpcError{code: code, fault: grpcFault(code, grpcValue(h, "Grpc-Message"))}
}

// grpcFault returns the fault for a code, as package grpcthrottle has it. gRPC itself answers
// ResourceExhausted to a message that is too large, which is not a lack of capacity.
func grpcFault(code int, message string) error {
	switch grpcName(code) {
	case "Canceled":
		return context.Canceled
	case "DeadlineExceeded":
		return context.DeadlineExceeded
	case "ResourceExhausted":
		if strings.Contains(message, "message larger than max") {
			return faults.Bad()
		}
		return faults.ResourceExhausted()
	case "Unavailable":
		return faults.Unavailable(0)
	case "InvalidArgument", "OutOfRange":
		return faults.Bad()
	case "NotFound":
		return faults.NotFound
	case "AlreadyExists", "Aborted":
		return faults.Aborted()
	case "PermissionDenied":
		return faults.PermissionDenied
	case "FailedPrecondition":
		return faults.FailedPrecondition()
	case "Unimplemented":
		return faults.Unimplemented
	case "Unauthenticated":
		return faults.Unauthenticated
	}
	return nil
}
