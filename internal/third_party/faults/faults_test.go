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

// eachKind runs test once per failure.
func eachKind(t *testing.T, test func(t *testing.T, k kind)) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

func TestFoundThroughWrapping(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		for name, err := range map[string]error{
			"itself":         k.bare,
			"Errorf":         fmt.Errorf("load: %w", k.bare),
			"Join":           errors.Join(io.EOF, k.bare),
			"Errorf of Join": fmt.Errorf("load: %w", errors.Join(io.EOF, k.bare)),
		} {
			if !k.is(err) {
				t.Errorf("%s: Is%s = false, want true", name, k.name)
			}
			if f, ok := k.as(err); !ok || f != k.bare {
				t.Errorf("%s: As%s = %v, %v, want the failure itself", name, k.name, f, ok)
			}
			if !errors.Is(err, k.zero) {
				t.Errorf("%s: errors.Is(err, %T) = false, want true", name, k.zero)
			}
		}
	})
}

func TestKindsAreDistinct(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		for _, other := range kinds() {
			want := k.name == other.name
			if got := k.is(other.bare); got != want {
				t.Errorf("Is%s(%s) = %v, want %v", k.name, other.name, got, want)
			}
			if _, got := k.as(other.bare); got != want {
				t.Errorf("As%s(%s) = %v, want %v", k.name, other.name, got, want)
			}
			if got := errors.Is(k.bare, other.zero); got != want {
				t.Errorf("errors.Is(%s, %T) = %v, want %v", k.name, other.zero, got, want)
			}
		}
	})
}

func TestCauseStaysReachable(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		err := k.with(io.EOF)
		if !k.is(err) {
			t.Errorf("Is%s = false, want true", k.name)
		}
		if got := errors.Unwrap(err); got != io.EOF {
			t.Errorf("Unwrap = %v, want %v", got, io.EOF)
		}
		if !errors.Is(fmt.Errorf("load: %w", err), io.EOF) {
			t.Error("errors.Is does not reach the cause")
		}
		if got := err.Error(); got != k.text && got != k.text+": EOF" {
			t.Errorf("text = %q, want %q, with or without the cause", got, k.text)
		}
		for _, other := range kinds() {
			if !other.is(k.with(other.bare)) {
				t.Errorf("Is%s does not see through With%s", other.name, k.name)
			}
		}
	})
}

func TestABareFaultWrapsNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		if got := errors.Unwrap(k.bare); got != nil || errors.Is(k.bare, io.EOF) || errors.Is(k.bare, nil) {
			t.Errorf("Unwrap = %v, want nil", got)
		}
		if got := k.bare.Error(); got != k.text {
			t.Errorf("text = %q, want %q", got, k.text)
		}
	})
}

func TestNilIsNoFault(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		f, ok := k.as(nil)
		if with := k.with(nil); with != nil || k.is(nil) || f != nil || ok {
			t.Errorf("With%s(nil) = %v, Is %v, As %v, %v, want nothing", k.name, with, k.is(nil), f, ok)
		}
	})
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
