// Package overload plays what happens between many clients and one backend that cannot serve them all, on virtual time and
// seeded dice: minutes of traffic pass in a second, and the same seed tells the same story.
//
// A [Scenario] says what the clients offer and what the backend can do, phase by phase. A [Policy] is what stands between
// them: nothing, a throttle of Spillway, or another library. [Play] brings the two together for one seed and returns an
// [Outcome]: the [Figures] of the whole run, and its [Series] second by second. [Summarize] puts the outcomes of several seeds together.
//
// # Calls
//
// Calls arrive as a Poisson process, each from a client drawn at random. They do not depend on the policy, and nobody tries again.
//
// # Backend
//
// A backend does as much work per second as it has capacity. A call costs one unit. A rejection costs a tenth of one unless told
// otherwise, so without a throttle a capacity of C under a load of L serves (C - L/10)/0.9. What the rejections of
// a hundred milliseconds would cost is the most that a backend can be behind with: it is itself again as soon as the load is gone.
//
// [Blind] and [Aware] backends answer at once. They save up work for 50 ms, so that chance alone hardly ever makes them
// reject; the aware one keeps a part of that back for each higher priority. A [Queue] answers in order of arrival, does not
// notice that a caller has given up, and rejects at once when it is full.
package overload
