// Package adaptive limits the calls of a client to an overloaded backend. It has no priorities, no
// hooks and no name: default hooks, otelthrottle and the status page do not report it.
//
// A backend that is out of capacity spends part of its remaining capacity on rejections. The more
// calls it receives, the less work it completes. A [Throttler] in each client compares the number
// of calls with the number of accepted calls. It sheds a growing part of the calls before they leave
// the process. It needs two calls:
//
//	t, err := adaptive.New(adaptive.Config{})
//	...
//	if t.ShouldThrottle() { // before each call
//		return fmt.Errorf("search: %w", throttle.ErrShed)
//	}
//	reply, err := client.Call(ctx, request)
//	if isOverloaded(err) { // after each call
//		t.Throttled()
//	} else {
//		t.Accepted()
//	}
//
// Return an error that wraps throttle.ErrShed for a call that is throttled. An outer throttle,
// breaker or backoff then ignores the call. It would count any other error as an answer of the
// backend.
//
// Not every error is a rejection. A backend that answers "not found" has done its work: call
// [Throttler.Accepted]. Some calls say nothing about the backend's capacity, because the caller
// gave up or the call was never sent: register nothing for them.
//
// # The formula
//
// A call is throttled with the probability
//
//	P = max(0, (requests - RatioForAccepts*accepts) / (requests + RequestsPadding))
//
// over the last [Config].Duration. Accepts are the calls that the backend accepted. Requests are
// these, the calls that the backend rejected, and the calls that the Throttler shed. Shed calls
// count as requests, so P stays high while the backend is down and falls as soon as it accepts
// calls again.
//
// P never reaches 1: while the backend accepts nothing, about RequestsPadding calls per Duration are
// still sent. They find out when the backend is back.
//
// # When to use it
//
// Use adaptive if all calls are equally important, and if the start and the end of a call are far
// apart in the code. A gRPC picker is an example. Use it also to replace a throttler that has the
// same two calls.
//
// Use throttle.Throttle for everything else. It sheds less important calls first, distinguishes
// rejections from ordinary errors, cancellations and panics, and reports its decisions through
// hooks.
package adaptive
