// Package backoff finds the rate of calls that a service can serve. It slows down quickly when the
// service throttles, and speeds up gradually while calls succeed.
//
//	r, err := backoff.New(backoff.Config{Name: "orders-table"})
//	...
//	order, err := backoff.Do(ctx, r, func(ctx context.Context) (Order, error) {
//		return table.Put(ctx, order)
//	})
//
// A [Responsive] keeps one delay for all calls of a service. It is safe for any number of workers.
// Each time the service throttles, the delay is multiplied by Config.UpMultiplier, or with
// Config.UpInterval it grows by that. After
// Config.DownMultiplierThreshold successes in a row it is multiplied by Config.DownMultiplier. A
// delay without calls for Config.IdleReset becomes 0.
//
// In mode [Pace], the default, the right delay is the same for one worker and for a thousand: it
// depends on the service's rate only. Waiting calls form one queue, first come, first served.
//
// # One step per overload
//
// An overloaded service throttles every call in flight. These calls must not each make the delay
// longer. The delay therefore has a generation, which grows with each step up. A [Permit] records
// the generation that its call waited for. A throttled call makes a step up only if its generation
// is the present one. In the same way, only successes of the present generation count as successes
// in a row.
//
// # Retry-After
//
// An outcome made by [ThrottledFor] stops all workers for that time, including those that already
// wait. If a service sends a Retry-After of one second whenever it is at its limit, the workers may
// use less than half of its capacity. Then return [Throttled] from Config.Classify instead: the
// delay alone finds the rate.
//
// # Several processes
//
// Processes that call the same service each keep their own delay. Together they find its rate, but
// they may share it unevenly: a process that is ahead tends to get further ahead, and may take
// nearly all of the capacity. Use a shared token bucket (throttle/bucket) if every process needs a
// share.
//
// # Recovery from an outage
//
// An outage drives the delay up to Config.MaxInterval, far beyond the right delay. Steps down of a
// few percent would then take long. In mode Pace, after eight or more steps up without a success,
// each success therefore divides the delay by four. This ends near the delay at which the service
// last served some calls and throttled others. If a call is throttled on the way, the delay goes
// back by one step.
package backoff
