// Package backoff finds the rate that a service will bear: up fast when it throttles, down gently while it serves.
//
//	r, err := backoff.New(backoff.Config{Name: "orders-table"})
//	...
//	order, err := backoff.Do(ctx, r, nil, func(ctx context.Context) (Order, error) {
//		return table.Put(ctx, order)
//	})
//
// A [Responsive] keeps one delay. Each time that the service throttles, the delay is multiplied by Config.UpMultiplier; after
// Config.DownMultiplierThreshold successes in a row it is multiplied by Config.DownMultiplier, until it is less than
// Config.InitialInterval, which is none. It is safe for any number of workers.
//
// # Modes
//
// In the mode [Pace], which is the default, the delay is the gap between two calls of all workers together, so that the right delay is the same
// for one worker and for a thousand: the service bears so many calls a second. Whoever comes stands in one line, the first to
// come first. In the mode [Sleep] each worker sleeps that long before each of its calls.
//
// # One step per event
//
// When a service throttles, it throttles every call that is under way. Each [Permit] knows by which step of the delay it was given, and only
// the first call of a step that is throttled makes the next one. Calls that were let through before it say nothing new. In the
// same way only calls of the present step count as successes in a row.
//
// # Several processes
//
// Processes that call the same service each have their own delay. Together they find the rate that it bears, but who is fast becomes faster, so
// that one may get nearly all. Where each must have a part, let a token bucket in a store say how many calls there are for all.
//
// Retry-After holds for all workers, as long as it says, also for those who wait already. A service that says a second whenever it is at its limit is
// so often left alone that less than half of what it bears may be used.
//
// # The way back
//
// An outage drives the delay up to Config.MaxInterval, far beyond what the service bears when it is back. In the mode Pace, when a call succeeds at a
// delay that is many times that at which one has succeeded before, each success makes a quarter of it, until it is near that at which the
// service last throttled somebody while it served others. If somebody is throttled on the way, the delay before is taken again. A delay that nobody
// has asked for during Config.IdleReset is forgotten.
package backoff
