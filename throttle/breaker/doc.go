// Package breaker is a circuit breaker for one process or a fleet. It sheds calls to endpoints that
// fail, probes these endpoints with a few calls, and disables those that do not recover. All processes
// of a fleet share these decisions. It is made for thousands of endpoints, such as webhooks, and works
// as well for one.
//
//	m, err := breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second})
//	...
//	charges := m.Circuit(breaker.Key{ID: "stripe"})
//	err = charges.Do(ctx, func(ctx context.Context) error { return charge(ctx, card) })
//	if errors.Is(err, throttle.ErrShed) { ... } // shed: the call was not made
//
// This breaker keeps its state in memory. It needs no [Manager.Run]: calls start the rounds, in
// which circuits open and close, in the background.
//
// A fleet shares a store, and counts by a [PollFunc] that sees the calls of all managers, such as
// sqlstore.Poller over a table of deliveries. A manager on a shared store that does not run opens
// no circuit, and does not see those that other managers open. So every process calls Run:
//
//	m, err := breaker.New(breaker.Config{
//		Name:  "webhooks",
//		Store: store,       // sqlstore.NewBreaker or redisstore.NewBreaker
//		Poll:  poller.Poll, // over the deliveries
//		ConsecutiveFailureThreshold: 10,
//	})
//	...
//	go func() { _ = m.Run(ctx) }() // returns nil when ctx ends
//	if err := m.CanExecute(ctx, breaker.Key{Tenant: tenant, ID: endpoint}); err != nil {
//		return err // shed: do not deliver now
//	}
//
// If Run is not called within two SampleRates of the first call, the manager reports [NotRunning]
// once to [Hooks].Failed, and [Stats].NotRunning is true. [Manager.Sample] makes one round by hand.
//
// # States of a circuit
//
// One manager leads. Once per SampleRate it polls how the calls of the last ObservabilityWindow
// ended, and moves circuits:
//
//   - A closed circuit opens if at least MinimumRequestCount calls were counted and
//     FailureThreshold percent of them failed.
//   - An open circuit sheds calls for BreakerTimeout. Then it is half-open, even without a leader.
//   - A half-open circuit admits HalfOpenProbes calls of the whole fleet per SampleRate. When it has
//     HalfOpenProbes results, or MinimumRequestCount if that is fewer, it closes if
//     SuccessThreshold percent succeeded, and opens again if FailureThreshold percent failed.
//     Otherwise it admits more probes, and opens after twice as many results, or after HalfOpenMax.
//   - After ConsecutiveFailureThreshold consecutive trips a circuit is disabled until
//     [Manager.Enable]. Trips are forgotten after ConsecutiveResetAfter in the closed state, if the
//     window then holds MinimumRequestCount calls.
//
// An endpoint that is down and has enough calls is disabled after about
// ConsecutiveFailureThreshold * (BreakerTimeout + SampleRate).
//
// # Cost of a call
//
// A manager decides in memory. It reads changes from the store in the background, each Refresh. No
// call waits for the store or fails because of it. A call to a closed circuit costs one map lookup;
// with a [Circuit] that is kept it costs less.
//
// # When the store fails
//
//   - A slow or unreachable store: managers use what they have read. After MaxStale, OnStale
//     applies. A failing store is called less and less often.
//   - Two leaders: leases are fenced. The store rejects writes of an earlier leader, and writes
//     based on an old version of a shard, so no change is lost.
//   - A dead leader: another manager leads within two SampleRates.
//   - Different clocks: all shared times are times of the store's clock.
//   - Lost data: the first manager that notices writes the records back. After an outage longer than
//     MaxStale it writes back only disabled and forced circuits. If single records are lost under an
//     unchanged version, a manager notices within 64 refreshes.
//   - A failing [Config].Notify: it is called until it succeeds, also by the next leader.
//
// Errors of background tasks are reported to [Hooks].Failed and counted in [Stats]. Package
// otelthrottle exports them as metrics. Package [store] is the contract for other stores.
//
// # Files, in the order of a failure
//
//   - A call: circuit.go makes it and classifies its error, table.go decides about it, counter.go
//     counts its result.
//   - A round: leader.go holds the lease. Where Run is not needed, lazy.go starts the round. round.go
//     polls and decides, by the rules of machine.go.
//   - A change: shard.go writes the records of one shard, in the form of record.go, and repeats after
//     a conflict. notify.go calls Config.Notify until it succeeds.
//   - The fleet: refresh.go reads the shards that have changed; shard.go finds what the store has
//     lost. table.go builds the next table. probe.go asks for the probes of half-open circuits.
//   - Around them: manager.go starts and ends all of this. control.go changes circuits by hand and
//     lists them. tuning.go has the settings at run time and those of tenants. memorystore.go is the
//     store of one process.
//
// # Breaker or throttle
//
// A breaker stops all calls to one failing endpoint of many. A throttle reduces the calls to a
// backend that has less capacity than is needed, by priority. The README helps to choose.
//
// [store]: https://pkg.go.dev/github.com/spillway-go/spillway/throttle/breaker/store
package breaker
