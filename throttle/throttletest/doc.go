// Package throttletest helps to test programs that use a throttle: with a backend that can be overloaded, a recorder of what
// a throttle tells, and a clock and draws that leave nothing to chance.
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
//		t.Error("nothing was shed during the outage")
//	}
//
// # Time
//
// There are two ways not to wait for time to pass. Inside a bubble of testing/synctest everything here works as it
// does outside, on the bubble's clock. Or give the same [Clock] to the backend and to the throttle, and [Clock.Advance] it.
package throttletest
