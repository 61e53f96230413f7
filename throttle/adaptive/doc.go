// Package adaptive tells a client when to stop bothering a backend that refuses its calls anyway.
//
// A backend that is short of capacity spends part of what is left on saying no. The more its clients insist, the less it gets
// done. A [Throttler] in each client compares how much was asked with how much was accepted lately, and
// has a growing part of the calls given up before they leave the process. Two calls are the whole of it:
//
//	t, err := adaptive.New(adaptive.Config{})
//	...
//	if t.ShouldThrottle() { // before each call
//		return errBusy
//	}
//	reply, err := client.Call(ctx, request)
//	if isOverloaded(err) { // after each call
//		t.Throttled()
//	} else {
//		t.Accepted()
//	}
//
// An error is not a refusal: a backend that answers "not found" has done its work, and is told of by [Throttler.Accepted].
// Of a call that says nothing about the backend's capacity, because its caller gave up or it was never sent, tell nothing.
//
// # The formula
//
// A call is throttled with the probability
//
//	P = max(0, (requests - RatioForAccepts*accepts) / (requests + RequestsPadding))
//
// over the last [Config].Duration. Accepts are the calls that the backend accepted; requests are these, those it throttled, and
// those given up here. A locally throttled call counts as a request: so P stays up while the backend is
// down, and falls as soon as it accepts again. P is 0 while everything is accepted and never reaches 1: when nothing is, about
// RequestsPadding calls per Duration still go out, and find out when the backend is back.
//
// # When to use it
//
// Use it where all calls matter alike and the two moments lie far apart in the code: a picker and a stream's end, say, or a
// port of code that has such a pair of calls already. It has no hooks, no name and no opinion about errors.
//
// Use throttle.Throttle for everything else. It sheds less important calls first, it tells refusals from
// ordinary errors, cancelled calls and panics by itself, and what it does can be seen.
package adaptive
