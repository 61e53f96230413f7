// Package throttle sheds the calls that a struggling backend could not serve, least important first.
//
// A [Throttle] stands before one backend. It watches how the backend answers, and when the backend starts to reject, for
// lack of capacity, it refuses a part of the calls itself, at once and without sending them. Nothing is queued, so no call
// ever waits for it. When all is well it does nothing but count.
//
//	th, err := throttle.New(throttle.Config{Name: "recommendations"})
//	...
//	err = th.Do(ctx, throttle.Medium, func(ctx context.Context) error {
//		return client.Recommend(ctx, user)
//	})
//	if errors.Is(err, throttle.ErrShed) {
//		// it was not even sent
//	}
//
// [Do] does the same for functions that return a value, [Throttle.Admit] for code that cannot be put into a function. A
// [Fallback] serves calls that were shed or failed. A [Group] keeps a throttle per host, method or tenant.
//
// # Words
//
// A call is admitted or shed. An admitted call ends accepted (the backend did its work, even if the answer is an
// ordinary error), rejected (the backend was out of capacity) or ignored (it says nothing about capacity). [DefaultClassify] tells
// them apart; Config.Classify and [MarkRejected] tell it more.
//
// # The decision
//
// The policy [SRE] sheds a call with probability
//
//	P = max(0, (requests - K*accepts) / (requests + padding))
//
// where requests and accepts are those of the call's priority during the last Config.Window, calls that were shed among the requests. K
// is Config.Ratio: with 2, twice as many calls may reach the backend as it accepts. The padding is the number of calls that
// Config.MinimumRate lets through in a window, so that a backend that was down is found again.
//
// A priority that the backend rejects is also charged for what higher priorities were refused, as far as its own rate of
// rejection is comparable: priorities that share a fate yield to the more important, while a healthy one is not punished
// for a sick neighbour.
//
// A backend that does not know priorities rejects High like any other, and with K = 2 half of what it gets may be too much. The policy
// [Tiered] lets K fall to 1 for all but the most important priority as rejections approach Config.TargetRejection, and shares what the backend
// has accepted in the last moments from the top down: High succeeds far more often, and the backend is trusted again
// within seconds. It tolerates less: choose it where rejections mean overload.
//
// # Telling
//
// [Hooks] are told of every decision, [Throttle.Stats] and [Throttle.RejectionProbability] can be asked at any time, and [LogHooks] writes
// two lines per overload. Package otelthrottle turns all of it into OpenTelemetry.
//
// # Bad input
//
// [New] and [Throttle.Tune] refuse what is out of range, NaN and infinities included, with an error that names each field, its value and its
// range; Tune changes nothing then. A priority out of range is, unless
// Config.InvalidPriority says otherwise, treated as the lowest, never as a higher one, and counted as Clamped in the
// stats. A nil function and a nil *Throttle are answered with an error; a nil context is the background. A context that is already over
// returns its error, and nothing is counted. If a function panics or ends its goroutine, the panic goes on up, and the call counts as ignored.
//
// # Cost
//
// A healthy call costs one reading of the clock, which is most of it, and two additions to counters that processors seldom share. While
// something is amiss the clock is read before the decision too. A shed call costs about a quarter more than a healthy one. None of them
// allocates. The numbers are in internal/benchmarks.
package throttle
