package backoff_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestSetDefaultHooks(t *testing.T) {
	t.Cleanup(func() { backoff.SetDefaultHooks(backoff.Hooks{}) })
	var defaults, own []string
	record := func(names *[]string) backoff.Hooks {
		return backoff.Hooks{Created: func(r *backoff.Responsive) { *names = append(*names, r.Name()) }}
	}
	create := func(name string, h backoff.Hooks) {
		t.Helper()
		if _, err := backoff.New(backoff.Config{Name: name, Hooks: h}); err != nil {
			t.Fatal(err)
		}
	}
	create("before", backoff.Hooks{})
	backoff.SetDefaultHooks(record(&defaults))
	create("without hooks", backoff.Hooks{})
	create("with hooks", record(&own))
	create("with another hook", backoff.Hooks{Slept: func(context.Context, backoff.SleepEvent) {}})
	create("joined", backoff.JoinHooks(backoff.DefaultHooks(), record(&own)))
	backoff.SetDefaultHooks(backoff.Hooks{})
	create("after", backoff.Hooks{})
	if want := []string{"without hooks", "joined"}; !slices.Equal(defaults, want) {
		t.Errorf("default hooks: got %q want %q", defaults, want)
	}
	if want := []string{"with hooks", "joined"}; !slices.Equal(own, want) {
		t.Errorf("own hooks: got %q want %q", own, want)
	}
}

// TestSetDefaultHooksConcurrently replaces the default hooks while others create: for the race detector.
func TestSetDefaultHooksConcurrently(t *testing.T) {
	t.Cleanup(func() { backoff.SetDefaultHooks(backoff.Hooks{}) })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { backoff.SetDefaultHooks(backoff.Hooks{Created: func(*backoff.Responsive) {}}) })
		wg.Go(func() { _ = backoff.Must(backoff.New(backoff.Config{Name: "x"})).Close() })
		wg.Go(func() { backoff.DefaultHooks() })
	}
	wg.Wait()
}

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
