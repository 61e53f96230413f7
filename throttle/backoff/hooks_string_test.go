package backoff_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestEventStrings(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "table"}))
	for want, got := range map[string]string{
		"backoff table: delay up from 0s to 1s":      backoff.StepEvent{Responsive: r, To: time.Second}.String(),
		"backoff table: delay up from 1s to 1s":      backoff.StepEvent{Responsive: r, From: time.Second, To: time.Second}.String(),
		"backoff table: delay down from 1s to 0s":    backoff.StepEvent{Responsive: r, From: time.Second}.String(),
		"backoff table: waited 1s":                   backoff.SleepEvent{Responsive: r, Duration: time.Second}.String(),
		"backoff table: waited 1s: context canceled": backoff.SleepEvent{Responsive: r, Duration: time.Second, Err: context.Canceled}.String(),
		"backoff table: waited 1s: backoff: closed":  backoff.SleepEvent{Responsive: r, Duration: time.Second, Err: backoff.ErrClosed}.String(),
		"backoff : waited 0s":                        backoff.SleepEvent{}.String(),
	} {
		if got != want {
			t.Errorf("got %q want %q", got, want)
		}
	}
}
