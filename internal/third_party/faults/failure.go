package faults

import (
	"errors"
	"strings"
)

// failure is what all failures have. T is the pointer to the failure that embeds it.
type failure[T error] struct{ err error }

// Unwrap returns the wrapped cause, or nil.
func (f failure[T]) Unwrap() error { return f.err }

// Is reports whether target itself is a failure of the same type. errors.Is does the unwrapping.
func (failure[T]) Is(target error) bool {
	_, ok := target.(T)
	return ok
}

// found reports whether err or anything it wraps has type T.
func found[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// wrap returns failure, or nil when there is no cause to wrap.
func wrap(cause, failure error) error {
	if cause == nil {
		return nil
	}
	return failure
}

// text returns the descriptions of the violations, or kind if there are none, and the cause. It skips
// nil violations, so that printing an error cannot panic.
func text[V any](kind string, violations []*V, describe func(*V) string, cause error) string {
	var parts []string
	for _, v := range violations {
		if v != nil {
			parts = append(parts, describe(v))
		}
	}
	if len(parts) > 0 {
		kind = strings.Join(parts, ". ")
	}
	if cause != nil {
		kind += ": " + cause.Error()
	}
	return kind
}
