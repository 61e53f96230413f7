// Package overload simulates many clients that call one backend with a limited capacity. It uses
// virtual time and seeded random numbers: minutes of traffic take a second, and the same seed gives
// the same results.
//
// A [Scenario] defines the calls of the clients and the capacity of the backend, phase by phase. A
// [Policy] decides which calls a client sends: all of them, or those that a throttle of Spillway or
// of another library admits. [Play] runs a scenario with a policy and a seed. It returns an
// [Outcome]: the [Figures] of the whole run, and the counts of each [Second]. [Summarize] combines the
// outcomes of several seeds.
//
// # Calls
//
// Calls arrive as a Poisson process, each from a random client. They do not depend on the policy.
// Clients retry by the rule that Policy.Retry or Scenario.Retry names: see [RetryRules]. Errors other
// than overload are random for each attempt.
//
// # Backend
//
// A backend does as much work per second as it has capacity. A served call costs one unit of work.
// A rejection costs a tenth of a unit, unless Options.RejectionCost is set. So without a throttle,
// a capacity of C under a load of L serves (C - L/10)/0.9 calls.
//
// A rejection for lack of capacity says so if Options.Certain is set. Calls that fail for other reasons, and
// calls that time out, end with throttle.Rejected.
//
// A backend can have a debt of work on rejections, up to 0.1 s of its capacity. Rejections beyond
// that cost nothing. So the backend recovers as soon as the load is gone.
//
// [Blind] and [Aware] backends answer at once. They save up unused work for 50 ms, so that random
// bursts of calls hardly ever lead to rejections. An aware backend keeps a part of that work for
// each higher priority. A [Queue] serves calls in the order of arrival. It also serves calls whose
// caller has timed out, and it rejects calls at once while it is full.
package overload
