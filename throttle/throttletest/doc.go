// Package throttletest helps to test programs that use a throttle. It has:
//   - a [Backend] that can be overloaded
//   - a [Recorder] of the events of a throttle
//   - a [Clock] and random numbers ([Always], [Sequence]) that a test controls
//
// A test may look like this:
//
//	backend, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: 100})
//	...
//	rec := throttletest.NewRecorder()
//	th, err := throttle.New(throttle.Config{Name: "orders", Hooks: rec.Hooks()})
//	...
//	backend.SetOutage(true)
//	err = th.Do(ctx, throttle.Low, backend.Call)
//	...
//	if n := rec.Count(throttletest.KindShed); n == 0 {
//		t.Error("no call was shed during the outage")
//	}
//
// # Time
//
// A test need not wait for real time to pass. There are two ways:
//   - Run it in a testing/synctest bubble. Everything in this package works with its fake clock.
//   - Give the same [Clock] to the backend and to the throttle, and call [Clock.Advance].
package throttletest
