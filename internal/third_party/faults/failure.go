package faults

import (
	"errors"
	"strings"
)

// is reports whether target itself has type T; errors.Is does the unwrapping.
func is[T error](target error) bool {
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

// text renders "kind (detail): cause"; an absent part is left out.
func text(kind, detail string, cause error) string {
	if detail != "" {
		kind += " (" + detail + ")"
	}
	if cause != nil {
		kind += ": " + cause.Error()
	}
	return kind
}

// list describes the violations one after the other. It skips nil ones, so
// that printing an error cannot panic.
func list[V any](violations []*V, describe func(*V) string) string {
	var parts []string
	for _, v := range violations {
		if v != nil {
			parts = append(parts, describe(v))
		}
	}
	return join("; ", parts...)
}

// join is strings.Join without the empty parts.
func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}
