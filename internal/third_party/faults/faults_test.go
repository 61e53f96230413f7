package faults_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/deixis/faults"
)

// kind is one of the nine failures, seen from outside.
type kind struct {
	name string
	bare error                   // built without a cause
	zero error                   // a target without details
	with func(err error) error   // the wrapper, without details
	is   func(err error) bool    // the IsX question
	as   func(error) (any, bool) // the AsX question
	text string
}

func kinds() []kind {
	return []kind{
		{"Unavailable", faults.Unavailable(0), &faults.AvailabilityFailure{}, func(err error) error { return faults.WithUnavailable(err, 0) }, faults.IsUnavailable, asAny(faults.AsUnavailable), "service temporarily unavailable"},
		{"ResourceExhausted", faults.ResourceExhausted(), &faults.QuotaFailure{}, func(err error) error { return faults.WithResourceExhausted(err) }, faults.IsResourceExhausted, asAny(faults.AsResourceExhausted), "quota failure"},
		{"Bad", faults.Bad(), &faults.BadRequest{}, func(err error) error { return faults.WithBad(err) }, faults.IsBad, asAny(faults.AsBad), "bad request"},
		{"FailedPrecondition", faults.FailedPrecondition(), &faults.PreconditionFailure{}, func(err error) error { return faults.WithFailedPrecondition(err) }, faults.IsFailedPrecondition, asAny(faults.AsFailedPrecondition), "precondition failure"},
		{"Aborted", faults.Aborted(), &faults.ConflictFailure{}, func(err error) error { return faults.WithAborted(err) }, faults.IsAborted, asAny(faults.AsAborted), "conflict"},
		{"NotFound", faults.NotFound, &faults.MissingFailure{}, faults.WithNotFound, faults.IsNotFound, asAny(faults.AsNotFound), "resource not found"},
		{"PermissionDenied", faults.PermissionDenied, &faults.PermissionFailure{}, faults.WithPermissionDenied, faults.IsPermissionDenied, asAny(faults.AsPermissionDenied), "permission denied"},
		{"Unauthenticated", faults.Unauthenticated, &faults.AuthenticationFailure{}, faults.WithUnauthenticated, faults.IsUnauthenticated, asAny(faults.AsUnauthenticated), "failed to authenticate request"},
		{"Unimplemented", faults.Unimplemented, &faults.UnimplementedFailure{}, faults.WithUnimplemented, faults.IsUnimplemented, asAny(faults.AsUnimplemented), "unimplemented (yet)"},
	}
}

func asAny[T any](as func(error) (*T, bool)) func(error) (any, bool) {
	return func(err error) (any, bool) {
		f, ok := as(err)
		if f == nil {
			return nil, ok
		}
		return f, ok
	}
}

// TestFoundThroughWrapping asks for each kind about each other, bare and below what may wrap it.
func TestFoundThroughWrapping(t *testing.T) {
	for _, k := range kinds() {
		for _, other := range kinds() {
			want := k.name == other.name
			for name, err := range map[string]error{
				"itself":         other.bare,
				"Errorf of Join": fmt.Errorf("load: %w", errors.Join(io.EOF, other.bare)),
			} {
				f, ok := k.as(err)
				if k.is(err) != want || ok != want || want && f != other.bare || errors.Is(err, k.zero) != want {
					t.Errorf("%s of %s, %s: got Is %v, As %v, %v, errors.Is %v want %v",
						k.name, other.name, name, k.is(err), f, ok, errors.Is(err, k.zero), want)
				}
			}
			if !other.is(k.with(other.bare)) {
				t.Errorf("Is%s does not see through With%s", other.name, k.name)
			}
		}
	}
}

func TestCauseStaysReachable(t *testing.T) {
	for _, k := range kinds() {
		err := k.with(io.EOF)
		if got := errors.Unwrap(err); !k.is(err) || got != io.EOF || !errors.Is(fmt.Errorf("load: %w", err), io.EOF) {
			t.Errorf("%s: got Is %v, Unwrap %v want true, %v", k.name, k.is(err), got, io.EOF)
		}
		if got := err.Error(); got != k.text && got != k.text+": EOF" {
			t.Errorf("%s: got text %q want %q, with or without the cause", k.name, got, k.text)
		}
		if got := k.bare.Error(); errors.Unwrap(k.bare) != nil || errors.Is(k.bare, io.EOF) || got != k.text {
			t.Errorf("%s without a cause: got %q, which wraps %v want %q", k.name, got, errors.Unwrap(k.bare), k.text)
		}
		f, ok := k.as(nil)
		if with := k.with(nil); with != nil || k.is(nil) || f != nil || ok {
			t.Errorf("With%s(nil) = %v, Is %v, As %v, %v, want nothing", k.name, with, k.is(nil), f, ok)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, 0: 0, -time.Second: 0} {
		for _, err := range []error{faults.Unavailable(delay), faults.WithUnavailable(io.EOF, delay)} {
			if f, ok := faults.AsUnavailable(err); !ok || f.RetryInfo.RetryDelay != want {
				t.Errorf("delay %v: got %v, %v want %v", delay, f, ok, want)
			}
		}
	}
}
