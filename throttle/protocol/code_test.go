package protocol_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// Each code has its fault, and each fault that an answer can have has a code of its own.
func TestFaultOfCode(t *testing.T) {
	for code, want := range []string{
		"none", "canceled", "other", "bad", "timeout", "missing", "conflict", "permission", "quota", "precondition", "conflict", "bad",
		"unimplemented", "other", "availability", "other", "authentication", "other",
	} {
		f := protocol.FaultOfCode(uint32(code), "")
		if f.String() != want {
			t.Errorf("code %d: got %v want %s", code, f, want)
		}
		if got := protocol.FaultOfCode(protocol.CodeOf(f), ""); f != throttle.FaultNone && got != f {
			t.Errorf("code of %v: got one for %v", f, got)
		}
		plain := errors.New("answer")
		err := protocol.WithFault(plain, f)
		if got := throttle.FaultOf(err); f != throttle.FaultNone && got != f || !errors.Is(err, plain) {
			t.Errorf("with the fault %v: got %v (%v)", f, err, got)
		}
	}
	for f, want := range map[throttle.Fault]uint32{
		throttle.FaultBad: 3, throttle.FaultConflict: 10, throttle.FaultShed: 2, throttle.FaultNone: 2,
	} {
		if got := protocol.CodeOf(f); got != want {
			t.Errorf("code of %v: got %d want %d", f, got, want)
		}
	}
}

// A caller must not be able to make a server shed with messages that are too large.
func TestFaultOfCode_tooLarge(t *testing.T) {
	for text, want := range map[string]throttle.Fault{
		"grpc: received message larger than max (5 vs. 4)":                      throttle.FaultBad,
		"grpc: trying to send message larger than max (5 vs. 4)":                throttle.FaultBad,
		"grpc: message after decompression larger than max (5 vs. 4)":           throttle.FaultBad,
		"grpc: received message after decompression larger than max 4":          throttle.FaultBad,
		"message size 5 exceeds sendMaxBytes 4":                                 throttle.FaultBad,
		"message size 5 is larger than configured max 4":                        throttle.FaultBad,
		"url size 5 exceeds getURLMaxBytes 4":                                   throttle.FaultBad,
		"read 5 byte message prefix: exceeded 4 byte http.MaxBytesReader limit": throttle.FaultBad,
		"the quota of orders is used up":                                        throttle.FaultQuota,
	} {
		if got := protocol.FaultOfCode(8, text); got != want {
			t.Errorf("%s: got %v want %v", text, got, want)
		}
	}
	if got := protocol.FaultOfCode(14, "message larger than max"); got != throttle.FaultAvailability {
		t.Errorf("Unavailable: got %v want availability", got)
	}
}

func TestWithFault_timeout(t *testing.T) {
	err := protocol.WithFault(errors.New("answer"), throttle.FaultTimeout)
	var timeout interface{ Timeout() bool }
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || !errors.As(err, &timeout) || !timeout.Timeout() || err.Error() != "answer" {
		t.Errorf("got %v want a timeout with the text of the answer", err)
	}
	if err := protocol.WithFault(errors.New("answer"), throttle.FaultCanceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v want a cancellation", err)
	}
}
