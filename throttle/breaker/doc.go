// Package breaker is a circuit breaker for one process or a fleet: it stops calls to endpoints that fail, probes them with a few, and
// disables those that never come back, for all agents at once. It is made for thousands of endpoints that nobody is paged
// for, such as webhooks; it serves as well where there is one.
//
//	m, err := breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second})
//	...
//	go func() { _ = m.Run(ctx) }() // it returns nil when ctx ends; ErrRunning or ErrManagerClosed is a mistake in the program
//	charges := m.Circuit(breaker.Key{ID: "stripe"})
//	err = charges.Run(ctx, func(ctx context.Context) error { return charge(ctx, card) })
//	if errors.Is(err, breaker.ErrOpen) { ... }
//
// Nothing opens before Run runs; [Stats].Running says whether it does. [Manager.Sample] makes one round by hand.
//
// A fleet shares a [Store], and counts by a [PollFunc] that sees the calls of all agents, such as sqlstore.Poller over a table of
// deliveries:
//
//	m, err := breaker.New(breaker.Config{
//		Name:  "webhooks",
//		Store: store,       // sqlstore.NewBreaker or redisstore.NewBreaker
//		Poll:  poller.Poll, // over the deliveries
//		ConsecutiveFailureThreshold: 10,
//	})
//	...
//	go func() { _ = m.Run(ctx) }()
//	if err := m.CanExecute(ctx, breaker.Key{Tenant: tenant, ID: endpoint}); err != nil {
//		return err // it was not delivered, and need not be tried
//	}
//
// # How a circuit moves
//
// One agent leads. Each SampleRate it polls how the calls of the last ObservabilityWindow ended, and moves circuits:
//
//   - A closed circuit opens if MinimumRequestCount calls or more were counted and FailureThreshold percent of them failed.
//   - An open circuit refuses calls for BreakerTimeout, and is half-open then. It takes no leader for that.
//   - A half-open circuit lets HalfOpenProbes calls through per SampleRate: of all agents together, because the store counts them. As
//     many results close it if SuccessThreshold percent succeeded, and open it again if FailureThreshold percent failed. In between
//     it goes on probing, and opens if twice as many results, or HalfOpenMax, leave it undecided.
//   - At the ConsecutiveFailureThreshold-th trip in a row it is disabled, and somebody has to enable it. Trips are forgotten only when
//     the circuit has been well for ConsecutiveResetAfter with MinimumRequestCount calls in the window, so that one lucky probe saves nobody.
//
// An endpoint that is dead is disabled after about ConsecutiveFailureThreshold times BreakerTimeout + SampleRate, if it gets calls
// enough to tell.
//
// # What a call costs, and waits for
//
// Nothing: an agent decides by what it knows, in memory, and reads what has changed in the background, each Refresh. No call waits for the
// store or fails because of it. A closed circuit costs a look into a map; a [Circuit] that is kept costs even less.
//
// # When things fail
//
// The lease of the leader is fenced: what it writes after another one has followed is refused ([ErrFenced]), and a shard is written only
// if it is what the writer knew ([ErrConflict]), so no change is ever lost to another. A leader that dies is followed within
// twice SampleRate. Store time is the store's own, which decides how long is left: agents' clocks may be hours apart. A store that has lost its records
// gets them back from whichever agent notices first, after an outage longer than MaxStale what is disabled or forced; so does one that has lost
// nothing but records, of which the versions of its shards say nothing, within 64 refreshes of an agent that knew them. While the store is away,
// agents go by what they know; after MaxStale OnStale says what holds. A store that fails is asked less and less often. [Config.Notify] is called
// until it has heard, also by the next leader.
//
// Everything that goes wrong in the background is told to [Hooks].Failed and counted in [Stats]. Package otelthrottle makes metrics of it.
//
// # Beside a throttle
//
// A breaker knows that one endpoint of many is dead, and stops at once and for long. A throttle knows that a backend has less capacity than
// is asked for, and sheds as much as it must, by priority. Which one is needed: the README has an answer.
package breaker
