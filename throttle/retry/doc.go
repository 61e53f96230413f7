// Package retry repeats calls that a backend had no capacity for, within a budget, so that retries
// do not multiply an overload.
//
//	th, err := throttle.New(throttle.Config{Name: "orders"})
//	...
//	r, err := retry.New(retry.Config{Throttle: th})
//	...
//	order, err := retry.Do(ctx, r, throttle.Medium, func(ctx context.Context) (Order, error) {
//		return orders.Find(ctx, id) // may run up to three times
//	})
//
// A [Retrier] has one budget. Make one per backend, beside its throttle. Packages httpthrottle and
// grpcthrottle make one for each host or target if their field Retry is set.
//
// # Which calls are retried
//
// Calls whose outcome is [throttle.Rejected]. Config.Retryable can change that. A call is not
// retried if
//
//   - the throttle shed it, or something inside it was shed: [throttle.ErrShed],
//   - the backend accepted it, also with an ordinary error such as "not found",
//   - its caller cancelled it, or its deadline comes before the retry could end,
//   - the backend asked for no retry, or for a longer delay than Delay.Longest,
//   - its context comes from [WithoutRetries].
//
// The function of Do may run several times. Pass only what may be repeated: a call that reads, or
// one whose effect is the same the second time. Give [WithoutRetries] to all others.
//
// # Budget
//
// Retries are a share of the first attempts that were accepted in the last seconds: see [Budget]. So
// while the backend works, nearly every rejected call is retried. In an outage no first attempt is
// accepted, and there are next to no retries.
//
// # Priorities
//
// A retry passes the throttle one priority lower than its first attempt, and the lowest stays. So
// the throttle sheds retries before it sheds first attempts. The context of the retry has this
// priority too, for calls that the function makes.
//
// The delay before a retry is random, see [Delay]. If the error has a delay of the backend (Retry-After,
// or a RetryInfo of gRPC), the retry waits for that first.
//
// # Stop retries
//
// [Retrier.Tune] with [throttle.ModeOff] stops all retries, and the second attempts of [Hedge]. Package
// control does it from a file: {"retries": {"orders": {"mode": "off"}}}.
//
// # Two layers
//
// Two layers with three attempts each make nine. Retry in one of them: in the one nearest to the
// backend, which gets each answer and its delay. Turn the retries of the other layer off. If that
// is not possible, make its calls with [WithoutRetries].
package retry
