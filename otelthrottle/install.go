package otelthrottle

import (
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// Install returns a Telemetry as [New] does, and sets its hooks as the default hooks of the
// packages throttle, breaker, bucket, backoff, retry and control. A throttle that a library makes without Hooks is
// then reported too. Call Install once, at the start of main, before the application makes
// throttles.
//
// Install does not reach
//
//   - throttles that were made before it, such as those in package variables and init functions,
//   - throttles whose Config has Hooks of its own,
//   - throttlers of package adaptive, which has no hooks.
//
// The same holds for breakers, limiters and backoffs. Install replaces the default hooks that were
// set before. To keep other hooks, join them after Install:
//
//	throttle.SetDefaultHooks(throttle.JoinHooks(tel.Hooks(), throttle.LogHooks(logger)))
//
// A Telemetry keeps each throttle in memory until it is closed. This includes those of libraries.
//
// [Telemetry.Shutdown] leaves the default hooks set, and they do nothing from then on. If New
// fails, the default hooks stay as they are.
func Install(options ...Option) (*Telemetry, error) {
	tel, err := New(options...)
	if err != nil {
		return nil, err
	}
	throttle.SetDefaultHooks(tel.Hooks())
	breaker.SetDefaultHooks(tel.BreakerHooks())
	bucket.SetDefaultHooks(tel.BucketHooks())
	backoff.SetDefaultHooks(tel.BackoffHooks())
	retry.SetDefaultHooks(tel.RetryHooks())
	control.SetDefaultHooks(tel.ControlHooks())
	return tel, nil
}
