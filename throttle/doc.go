// Package throttle sheds the calls that an overloaded backend could not serve, least important first.
//
// A [Throttle] protects one backend. It counts how the backend answers. When the backend rejects
// calls because it is out of capacity, the throttle sheds some calls itself: it returns an error at
// once and does not send them. It never queues or delays a call. While the backend accepts
// everything, the throttle only counts.
//
//	th, err := throttle.New(throttle.Config{Name: "recommendations"})
//	...
//	err = th.Do(ctx, throttle.Medium, func(ctx context.Context) error {
//		return client.Recommend(ctx, user)
//	})
//	if errors.Is(err, throttle.ErrShed) {
//		// the call was not sent
//	}
//
// In a server the throttle also sheds requests while they wait for a processor, see below.
//
// [Do] is for functions that return a value. [Throttle.Admit] is for code that cannot be one
// function. A [Fallback] replaces the result of calls that were shed or failed. A [Group] keeps one
// throttle per host, method or tenant.
//
// # Words
//
// A call is admitted or shed. An admitted call ends as one of:
//
//   - accepted: the backend did its work, even if its answer is an ordinary error
//   - rejected: the backend was out of capacity
//   - ignored: the result does not depend on capacity, for example because the caller cancelled
//
// [DefaultClassify] decides which, from the error. Config.Classify and [MarkRejected] change that.
//
// A rejection also says how certain it is. If the backend says that it is full, or asks to wait, it is
// certain: [MarkOverloaded]. A refused connection or a timeout may have other reasons than load. Both
// count as rejected, and [PriorityStats].Overloaded counts those that are certain.
//
// # The decision
//
// The formula of Google's SRE book sheds a call with probability
//
//	P = max(0, (requests - K*accepts) / (requests + padding))
//
// Requests and accepts are those of the call's priority during the last Config.Window. Requests
// include shed calls, but not ignored ones and those that have not ended. K is Config.Ratio: with 2,
// twice as many calls may reach the backend as it accepts. The padding is the number of calls that
// Config.MinimumRate lets through in a window, so that the throttle notices when a backend recovers.
//
// If the backend also rejects calls of a lower priority, the calls of higher priorities that were
// rejected or shed are added to its requests: fully if both are rejected at the same rate, less if
// the lower priority is rejected more rarely. So priorities with a common backend yield to the more
// important ones. A priority that the backend does not reject is not shed because another one fails.
//
// That is the policy [SRE], with a window of a minute. A backend that does not know priorities
// rejects High like any other, and with K = 2 it may get twice as many calls as it can serve. The
// default policy, [Tiered], does better: High succeeds far more often, and full traffic returns about
// ten seconds after a recovery, instead of one or two minutes.
//
// A throttle without calls for a whole Window forgets its state: it begins again like a new one. In
// [ModeOff] the policy forgets its alert and what it has learned, but the window still counts: after a
// change to [ModeEnforce] the throttle sheds by it.
//
// # Servers
//
// The calls of [Throttle.AdmitLocal] and [Throttle.DoLocal] are work that this process does itself. The
// servers of packages httpthrottle, grpcthrottle and connectthrottle use them. While such calls wait
// too long for a processor, the process sheds a share of them: see [Config.ProcessorWait], [Processor]
// and docs/protect-a-server.md. The window does not count these sheds.
//
// # Load reports
//
// A server can say with each answer what it sheds: [Throttle.LoadReport]. A client that listens sheds such
// calls itself, with the cause [CauseTold], and returns to full traffic sooner: [Throttle.ReceiveLoad]. Both are
// off until the user names the peers to trust. docs/load-reports.md has more, and the wire format.
//
// # Observability
//
// [Hooks] are called for every decision. [Throttle.Stats] and [Throttle.RejectionProbability] return
// the current state. [LogHooks] logs two lines per period of shedding. Package otelthrottle exports
// all of it to OpenTelemetry; [SetDefaultHooks] applies hooks to every throttle of the process.
//
// # Invalid input
//
// [New] and [Throttle.Tune] return an error that has each invalid field, its value and its range.
// NaN and infinite values are invalid. Calls handle bad input so:
//
//   - A priority out of range is treated as the lowest and counted as Clamped in [Stats], unless
//     Config.InvalidPriority is set.
//   - A nil function or a nil *Throttle returns an error. A nil context is context.Background().
//   - A context that has ended returns its error, and nothing is counted.
//   - If a function panics or calls runtime.Goexit, the call counts as ignored and the panic
//     continues.
//
// # Cost
//
// A call to a healthy backend reads the clock once, which is most of the cost, and increments two
// counters. While the window holds a rejected or shed call, it reads the clock before the decision
// too, and a Finished hook needs one reading more. A shed call costs about as much as a call to a
// healthy backend. No call allocates. The measurements are in internal/benchmarks.
package throttle
