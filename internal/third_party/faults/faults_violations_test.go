package faults_test

import (
	"io"
	"testing"
	"time"

	"github.com/deixis/faults"
)

func TestViolationsAreInTheText(t *testing.T) {
	quota := &faults.QuotaViolation{Subject: "user 42", Description: "100 calls a day"}
	field := &faults.FieldViolation{Field: "email", Description: "no @"}
	precondition := &faults.PreconditionViolation{Type: "state", Subject: "order 7", Description: "not paid"}
	conflict := &faults.ConflictViolation{Resource: "basket 9", Description: "changed meanwhile"}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"delay", faults.Unavailable(3 * time.Second), "service temporarily unavailable, retry in 3s"},
		{"delay and cause", faults.WithUnavailable(io.EOF, 3*time.Second), "service temporarily unavailable, retry in 3s"},
		{"negative delay by hand", &faults.AvailabilityFailure{RetryInfo: faults.RetryInfo{RetryDelay: -1}}, "service temporarily unavailable"},
		{"quota", faults.ResourceExhausted(quota), "100 calls a day"},
		{"quota and cause", faults.WithResourceExhausted(io.EOF, quota), "100 calls a day: EOF"},
		{"field", faults.WithBad(io.EOF, field), "no @: EOF"},
		{"precondition", faults.WithFailedPrecondition(io.EOF, precondition), "not paid: EOF"},
		{"conflict", faults.WithAborted(io.EOF, conflict), "changed meanwhile: EOF"},
		{"two violations", faults.Bad(field, &faults.FieldViolation{Field: "name", Description: "is missing"}), "no @. is missing"},
		{"empty violation", faults.Bad(&faults.FieldViolation{}), ""},
		{"nil violation", faults.Bad(nil, field), "no @"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
