// Package semconv has the names that [github.com/spillway-go/spillway/otelthrottle] reports under: its metrics, the
// attributes of its metrics and spans, and their values. Use them in a View, a sampler or a processor, so that a
// misspelt name does not compile.
//
// docs/metrics.md has a table of all metrics, with their instruments, units and attributes, and their names in
// Prometheus. This comment says what the table cannot.
//
// # Metrics of throttles
//
// All have the attribute throttle.name. All except throttle.priority.clamped, throttle.calls.exempt and those of the policy,
// of the mode, of slow calls and of the state of load reports have throttle.priority. With otelthrottle.WithGroupDetail, those of a group's members have throttle.key.
//
// The values of the attributes are closed sets, except for name and key:
//
//	throttle.priority   high, important, medium, low, p4 to p15
//	throttle.decision   admitted, shed, shadow_shed (admitted in ModeShadow; ModeEnforce would shed it)
//	throttle.outcome    accepted, rejected, ignored, shed
//	throttle.cause      own, above: the priority whose rejections caused it; limit: calls are late, and
//	                    too many are open; processor: requests wait for a processor of this process;
//	                    told: the backend says that it sheds such calls; for shed and shadow_shed
//	error.type          a throttle.Fault, with _OTHER for other; shed for shed calls; absent without an error
//
//	throttle.policy.alert  none, ratio, growth, formula, full, trial: why the policy is in alert; full: the backend
//	                       says that it is full
//
//	throttle.slow.event    late, booked, written_off, would_refuse
//	throttle.slow.source   configured: Config.Slow; learned: by a throttle that serves calls, or with SlowAuto
//
//	throttle.load.state    calm, mixed, overloaded; doubted: the backend rejects far fewer calls than it says
//
//	throttle.mode          enforce, shadow, off
//	throttle.mode.source   code, override: whether a Control has set a mode that is not that of the code
//
// The gauge throttle.mode is the number of throttles with a mode. A mode that no throttle has is not reported.
//
// The metrics of slow calls exist for throttles with Config.Slow, or once it has been learned,
// except throttle.slow.open, which all have: calls without an answer that were not written off. Calls and limit have
// throttle.priority. The limit is 0 without a limit. The events of Config.Slow are late;
// booked, a late call that counts as rejected; written_off; and would_refuse, a call that ModeEnforce of
// Config.SlowGate would refuse.
//
// The metrics of the policy exist for throttles with the policy Tiered. The state is the number of
// throttles with each reason for an alert; those with none are quiet. The background is the share of
// the calls whose rejection is not taken for overload.
//
// For fallbacks, throttle.outcome is that of the call, and error.type is the error of the fallback.
// The histogram has admitted calls only. The series of accepted and of shed calls, with the
// causes own and above, start at 0 for every priority, so that a rate includes the first call. In servers, so do
// those with the cause processor, and throttle.calls.exempt; in clients that receive load reports, those with the cause told. Other series start with their first call.
//
// The overloads are the rejected calls of which the backend said that it is full, or asked to wait: see
// [throttle.MarkOverloaded]. Other rejected calls may have failed for other reasons than load. Late calls
// that are booked, and calls that Config.SlowGate refuses, count too. Calls of shadow_shed do not.
//
// The metrics of load reports exist for servers that send them, and for clients that have received one in the last
// five seconds. Sent is the share that a server says it sheds. Received is the probability of shedding that the
// reports of the backend ask for, and the state is the number of throttles by what their backend says. See
// [throttle.Throttle.ReceiveLoad].
//
// The metrics of tenants exist for throttles that might have shed a call of a tenant: see [throttle.WithTenant].
// All have throttle.priority. Above and largest are those of the throttle with the highest value, and sheds
// counts calls that are also in throttle.calls.
//
// # Metrics of the process
//
// They exist once the process has served a call through a server of httpthrottle, grpcthrottle or
// connectthrottle, [throttle.Throttle.AdmitLocal] or DoLocal. They have no throttle.name: all throttles
// of the process share them. The probability has throttle.priority, for high to low. See [throttle.Processor].
//
// With otelthrottle.WithObjective there is one more, spillway.objective. The value of its attribute is success, of a
// share, or p99, of seconds. A rules file for many services records
// the same series with the label service.
//
// # Metrics of breakers
//
// All have the attribute throttle.breaker.name. Series start at 0 for every state and every kind of
// failure, with two exceptions. Calls that ModeShadow admits (shadow_shed) start with the first
// one. The age starts when the store was first read.
//
//	throttle.breaker.state    closed, open, half_open, disabled: of transitions the new state
//	throttle.breaker.failure  store, poll, counts, notify, record, loss, fenced, conflict, lease, settings, hook, not_running
//
// The processes of a fleet share their circuits. Aggregate over the processes by
// throttle_breaker_name and the further attributes:
//
//   - max of circuits and circuit, because every process sees all circuits.
//   - max of snapshot.age: the oldest snapshot.
//   - sum of transitions, calls and failures, because one process counts each.
//   - sum of leader: the number of leaders, usually 1.
//
// A breaker with a store in memory shares nothing: there, sum circuits over the processes.
//
// The gauge throttle.breaker.circuit exists only with otelthrottle.WithBreakerDetail. It has a series with the
// value 1 for each circuit that is not closed, up to the limit. Disabled circuits come first, then
// open and half-open ones, in each group the latest change first. In a tenant or a key, bytes that
// are not UTF-8 are replaced, and what is longer than 128 bytes is cut. A changed one ends with a
// hash.
//
// # Metrics of buckets
//
// All have the attribute throttle.bucket.name, which is the name of the limiter. They have no keys,
// because a limiter may have a bucket for each of your users.
//
//	throttle.bucket.result  granted and denied
//	                        share_granted and share_denied: by the policy LocalShare, because the store gave no answer
//	                        failed_open and failed_closed: by FailOpen or FailClosed
//
// The limit and the capacity are those of each key for which Config.LimitFor has no other. For
// several limiters of one name in a process, the highest is reported. Processes that share a store
// share the limit, so query max. With a store in memory each process has the whole limit.
//
// The counters and waiting start at 0. One store call may be for several requests, so that
// the count of the histogram is the number of store calls. The number of requests is
// throttle.bucket.requests. Limiters with a store in memory have no durations. The error.type is a
// throttle.Fault, as above. It is absent if the store answered, also for a denial. The bounds are
// 0.1 ms, 0.25, 0.5, 1 and so on to 500 ms, then 1 s, 10 s and 60 s. The default of
// Config.StoreTimeout, 50 ms, is a bound, so that timeouts are in the next bucket. A limiter has
// the results of its own policy only.
//
// # Metrics of backoffs
//
// All have the attribute throttle.backoff.name, which is the name of the Responsive. All series
// except the histogram start at 0.
//
//	throttle.backoff.direction  up, down: up also counts steps while the delay is at its maximum
//	throttle.backoff.outcome    success, throttled, ignored: what the caller reported
//
// In the mode Pace, the delay is the time between two calls of all workers. In the mode Sleep, it
// is the time that each worker sleeps. For several backoffs of one name in a process, the highest
// delay is reported. Each process has a delay of its own: query max.
//
// The histogram has only calls that waited, including those whose caller gave up. In the mode Pace,
// a wait is the time in the queue, which is longer than the delay. The bounds are 1 ms, 2.5, 10,
// 25, 100, 250 and 500 ms, 1 s, 2.5, 5, 10, 30 and 60 s, 5 min and 15 min. The longest default
// delays of both modes are bounds.
//
// A permit without Done is not counted. After Close, calls in flight are counted only while another
// caller still waits.
//
// # Metrics of retries
//
// The arrivals have the attribute throttle.name. All others have throttle.retry.name, which is the
// name of the Retrier, and start at 0. In a client of HTTP or gRPC that is the name of its throttles.
//
//	throttle.retry.result    sent, denied
//	throttle.retry.kind      retry, hedge: of a sent one
//	throttle.retry.reason    budget, shed, pushback, deadline, attempts, canceled, once, off: why a failed call was not retried, or not again
//	throttle.retry.attempts  0 to 10: how many attempts of a call were sent; 0 if its first attempt was shed
//
// The amplification is 1 + sent retries / calls with at least one attempt. The budget is that of all
// retriers of one name together. A server counts the arrivals, which have the name of its throttle:
// calls that their sender marked as retries.
//
// # Metrics of Controls
//
// A process has one Control at most, which has no name. The tunings and the overrides start at 0 for the sources
// apply, file and http. The gauges throttle.control.broken and
// throttle.control.version exist while a file, or another document, is watched. The version is a number made of the
// document that was last applied, or 0. The
// gauge throttle.control.changed is the Unix time of the last change of a name. It exists from the first change of
// that name on. After a restart it is what the line says in the field changed, or else when its file was written.
//
//	throttle.tuning.source   apply, file, http; code: a setting could not be applied to a throttle that was made later
//	throttle.tuning.result   applied, ended, refused
//
// # Series in Prometheus
//
// Prometheus shows attributes with underscores instead of dots. Leave the exporter's defaults. With another
// translation strategy, WithoutUnits, WithoutCounterSuffixes or WithNamespace, the names change and the
// dashboards are empty.
//
// The label otel_scope_version changes with releases of this package. Aggregate it away:
//
//	sum by (throttle_name, throttle_priority) (rate(throttle_calls_total{throttle_decision="shed"}[1m]))
//
// All throttles of one name, such as the members of a Group, are reported as one:
//
//   - Counters are summed up. They include those of closed throttles, so that they never decrease.
//   - The probability, the background, and the threshold and the oldest call of slow calls are the
//     highest ones. The limit is the lowest one. Window and active calls are sums.
//   - When the last throttle is closed, the series end. Only those of the histograms and of
//     throttle.retry.arrivals remain, because the SDK keeps them until the MeterProvider is shut down.
//   - If the name returns, its counters resume. Calls that start after Close are not counted.
//
// The same holds for managers, limiters and backoffs of one name. Of the circuits by state, the age
// of the snapshot, and the delay of backoffs, the highest value is reported.
//
// If a Config.Now panics, the collection leaves out all throttles of that name, because a sum
// without one of them would decrease. otel.Handle gets the error. The rest of the collection is
// complete.
package semconv
