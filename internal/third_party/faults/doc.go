// Package faults is a vocabulary of nine failures that callers can act upon.
//
// It is a stand-in, written by the Spillway project from the public API of
// github.com/deixis/faults v1.0.1. It exists because some module proxies do
// not serve that module. Only the replace line in Spillway's root go.mod uses
// it; consumers of Spillway get the real module.
//
// Five failures carry details and have a constructor: [Unavailable],
// [ResourceExhausted], [Bad], [FailedPrecondition] and [Aborted]. Four carry
// none and are variables: [NotFound], [PermissionDenied], [Unauthenticated] and
// [Unimplemented]. For each name X, WithX wraps a cause, IsX reports whether an
// error is or wraps such a failure, and AsX returns it:
//
//	err := faults.WithUnavailable(cause, 3*time.Second)
//	if f, ok := faults.AsUnavailable(err); ok {
//		time.Sleep(f.RetryInfo.RetryDelay)
//	}
//
// A failure is always a pointer, and errors.Is matches it with any failure of
// its own type, with any details. An unavailable failure that wraps NotFound
// matches both types. Failures are safe for concurrent use as long as their
// fields are not changed.
package faults
