// Package otelthrottle reports what throttles, breakers, buckets, backoffs, retriers and Controls do as
// OpenTelemetry metrics and spans. It counts every decision by priority. It reports the probability of shedding
// and the durations of calls, with exemplars. It also reports the states of circuits, the results
// of requests for tokens, and the waits for backoffs.
//
// Make one [Telemetry] per process. Hand its Hooks to every throttle, BreakerHooks to every
// breaker, BucketHooks to every limiter, BackoffHooks to every Responsive, RetryHooks to every
// Retrier and ControlHooks to the Control. The package imports the OpenTelemetry API only. The application selects SDK and exporters. For Prometheus:
//
//	exporter, err := otelprometheus.New()
//	if err != nil {
//		log.Fatal(err)
//	}
//	meters := metric.NewMeterProvider(metric.WithReader(exporter))
//	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters))
//	if err != nil {
//		log.Fatal(err)
//	}
//	th, err := throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()})
//	if err != nil {
//		log.Fatal(err)
//	}
//	metrics := promhttp.HandlerFor(prometheus.DefaultGatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
//	http.Handle("/metrics", metrics)
//
// For OTLP, to the address in OTEL_EXPORTER_OTLP_ENDPOINT:
//
//	points, err := otlpmetrichttp.New(ctx)
//	if err != nil {
//		return err
//	}
//	spans, err := otlptracehttp.New(ctx)
//	if err != nil {
//		return err
//	}
//	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(points)))
//	tracers := trace.NewTracerProvider(trace.WithBatcher(spans))
//	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters), otelthrottle.WithTracerProvider(tracers))
//
// Without these options, the global providers are used. [Install] makes a Telemetry and sets its
// hooks as the default hooks of the packages throttle, breaker, bucket, backoff, retry and control. Then a
// throttle that a library makes later without Hooks is reported too. Package adaptive has no hooks, so its
// throttlers are never reported.
//
// Shut down in this order, when no more calls come. Then no data is lost:
//
//  1. [Telemetry.Shutdown], which flushes the MeterProvider,
//  2. throttles, breakers, limiters and backoffs,
//  3. the providers.
//
// The series of a name end when its last throttle is closed. If a program closes it before
// Shutdown, what it counted after the last collection is not exported, unless the name returns.
// Deferred calls run in reverse order. A program that defers Close where it makes a throttle must
// call Shutdown, or ForceFlush of the MeterProvider, before it returns.
//
// If only some throttles of a name are closed, such as members of a Group, their counters
// stay in the sums of the name. Nothing is lost but the calls that a retrier or a backoff has not ended
// when it is closed.
//
// # Metrics of throttles
//
// All have the attribute throttle.name. All except throttle.priority.clamped, throttle.calls.exempt and those of the policy,
// of the mode and of slow calls have throttle.priority. With [WithGroupDetail], those of a group's members have throttle.key.
//
//	metric                         instrument       unit        further attributes
//	throttle.calls                 counter          {call}      throttle.decision, throttle.outcome, error.type, throttle.cause
//	throttle.call.duration         histogram        s           throttle.outcome, error.type
//	throttle.call.active           up-down counter  {call}
//	throttle.rejection_probability gauge            1
//	throttle.window.requests       gauge            {request}
//	throttle.window.accepts        gauge            {request}
//	throttle.fallbacks             counter          {call}      throttle.outcome, error.type
//	throttle.priority.clamped      counter          {call}
//	throttle.policy.state          gauge            {throttle}  throttle.policy.alert
//	throttle.policy.background     gauge            1
//	throttle.slow.calls            counter          {call}      throttle.slow.event
//	throttle.slow.limit            gauge            {call}
//	throttle.slow.open             up-down counter  {call}
//	throttle.slow.threshold        gauge            s           throttle.slow.source
//	throttle.slow.oldest           gauge            s
//	throttle.mode                  gauge            {throttle}  throttle.mode, throttle.mode.source
//	throttle.calls.exempt          counter          {call}
//
// The values of the attributes are closed sets, except for name and key:
//
//	throttle.priority   high, important, medium, low, p4 to p15
//	throttle.decision   admitted, shed, shadow_shed (admitted in ModeShadow; ModeEnforce would shed it)
//	throttle.outcome    accepted, rejected, ignored, shed
//	throttle.cause      own, above: the priority whose rejections caused it; limit: calls are late, and
//	                    too many are open; processor: requests wait for a processor of this process;
//	                    for shed and shadow_shed
//	error.type          a throttle.Fault, with _OTHER for other; shed for shed calls; absent without an error
//
//	throttle.policy.alert  none, ratio, growth, formula: why the policy is in alert
//
//	throttle.slow.event    late, booked, written_off, would_refuse, would_be_late
//	throttle.slow.source   configured: Config.Slow; learned: what Config.SlowAuto has learned
//
//	throttle.mode          enforce, shadow, off
//	throttle.mode.source   code, override: whether a Control has set a mode that is not that of the code
//
// The gauge throttle.mode is the number of throttles with a mode. A mode that no throttle has is not reported.
//
// The metrics of slow calls exist for throttles with Config.Slow, except throttle.slow.open, which all
// have: calls without an answer that were not written off. Calls and limit have
// throttle.priority. The limit is 0 without a limit. The events of Config.Slow are late;
// booked, a late call that counts as rejected; written_off; and would_refuse, a call that ModeEnforce of
// Config.SlowGate would refuse. With Config.SlowAuto, there are the learned threshold, after the first
// 10 s, and would_be_late, a call that took longer than it.
//
// The metrics of the policy exist for throttles with the policy Tiered. The state is the number of
// throttles with each reason for an alert; those with none are quiet. The background is the share of
// the calls whose rejection is not taken for overload.
//
// For fallbacks, throttle.outcome is that of the call, and error.type is the error of the fallback.
// The histogram has admitted calls only. The series of accepted and of shed calls, with the
// causes own and above, start at 0 for every priority, so that a rate includes the first call. In servers, so do
// those with the cause processor, and throttle.calls.exempt. Other series start with their first call.
//
// # Metrics of the process
//
// They exist once the process has served a call through a server of httpthrottle, grpcthrottle or
// connectthrottle, [throttle.Throttle.AdmitLocal] or DoLocal. They have no throttle.name: all throttles
// of the process share them. The probability has throttle.priority, for high to low. See [throttle.Processor].
//
//	metric                         instrument       unit         further attributes
//	throttle.processor.wait        gauge            s
//	throttle.processor.aim         gauge            s
//	throttle.processor.runnable    gauge            {goroutine}
//	throttle.processor.share       gauge            1
//	throttle.processor.probability gauge            1
//
// # Metrics of breakers
//
// All have the attribute throttle.breaker.name. Series start at 0 for every state and every kind of
// failure, with two exceptions. Calls that ModeShadow admits (shadow_shed) start with the first
// one. The age starts when the store was first read.
//
//	metric                         instrument       unit          further attributes
//	throttle.breaker.circuits      up-down counter  {circuit}     throttle.breaker.state
//	throttle.breaker.circuit       gauge            {circuit}     throttle.breaker.state, throttle.breaker.tenant, throttle.breaker.key
//	throttle.breaker.transitions   counter          {transition}  throttle.breaker.state
//	throttle.breaker.calls         counter          {call}        throttle.decision, throttle.breaker.state
//	throttle.breaker.snapshot.age  gauge            s
//	throttle.breaker.leader        up-down counter  1
//	throttle.breaker.failures      counter          {failure}     throttle.breaker.failure
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
// The gauge throttle.breaker.circuit exists only with [WithBreakerDetail]. It has a series with the
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
//	metric                          instrument       unit       further attributes
//	throttle.bucket.requests        counter          {request}  throttle.bucket.result
//	throttle.bucket.tokens          counter          {token}
//	throttle.bucket.waiting         up-down counter  {request}
//	throttle.bucket.limit           gauge            {token}/s
//	throttle.bucket.capacity        gauge            {token}
//	throttle.bucket.store.duration  histogram        s          error.type
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
//	metric                           instrument       unit    further attributes
//	throttle.backoff.delay           gauge            s
//	throttle.backoff.steps           counter          {step}  throttle.backoff.direction
//	throttle.backoff.calls           counter          {call}  throttle.backoff.outcome
//	throttle.backoff.waiting         up-down counter  {call}
//	throttle.backoff.sleep.duration  histogram        s
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
//	metric                   instrument  unit     further attributes
//	throttle.retries         counter     {retry}  throttle.retry.result, throttle.retry.kind, throttle.retry.reason
//	throttle.retry.calls     counter     {call}   throttle.retry.attempts
//	throttle.retry.budget    gauge       {retry}
//	throttle.retry.arrivals  counter     {call}
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
// apply, file and http. The gauge throttle.control.broken exists while a file is watched. The
// gauge throttle.control.changed is the Unix time of the last change of a name. It exists from the first change of
// that name on. After a restart it is what the line says in the field changed, or else when its file was written.
//
//	metric                      instrument  unit        further attributes
//	throttle.tunings            counter     {change}    throttle.tuning.source, throttle.tuning.result
//	throttle.control.overrides  gauge       {override}  throttle.tuning.source
//	throttle.control.broken     gauge       {file}
//	throttle.control.changed    gauge       s           throttle.tuning.kind, throttle.tuning.name, throttle.tuning.source
//
//	throttle.tuning.source   apply, file, http; code: a setting could not be applied to a throttle that was made later
//	throttle.tuning.result   applied, ended, refused
//
// # Series in Prometheus
//
// Prometheus shows these series, and attributes with underscores instead of dots. Leave the
// exporter's defaults. With another translation strategy, WithoutUnits, WithoutCounterSuffixes or
// WithNamespace, the names change and the dashboards are empty.
//
//	throttle_calls_total
//	throttle_call_duration_seconds
//	throttle_call_active
//	throttle_rejection_probability_ratio
//	throttle_window_requests
//	throttle_window_accepts
//	throttle_fallbacks_total
//	throttle_priority_clamped_total
//	throttle_policy_state
//	throttle_policy_background_ratio
//	throttle_slow_calls_total
//	throttle_slow_limit
//	throttle_slow_open
//	throttle_slow_threshold_seconds
//	throttle_slow_oldest_seconds
//	throttle_mode
//	throttle_calls_exempt_total
//	throttle_processor_wait_seconds
//	throttle_processor_aim_seconds
//	throttle_processor_runnable
//	throttle_processor_share_ratio
//	throttle_processor_probability_ratio
//	throttle_breaker_circuits
//	throttle_breaker_circuit
//	throttle_breaker_transitions_total
//	throttle_breaker_calls_total
//	throttle_breaker_snapshot_age_seconds
//	throttle_breaker_leader
//	throttle_breaker_failures_total
//	throttle_bucket_requests_total
//	throttle_bucket_tokens_total
//	throttle_bucket_waiting
//	throttle_bucket_limit_per_second
//	throttle_bucket_capacity
//	throttle_bucket_store_duration_seconds
//	throttle_backoff_delay_seconds
//	throttle_backoff_steps_total
//	throttle_backoff_calls_total
//	throttle_backoff_waiting
//	throttle_backoff_sleep_duration_seconds
//	throttle_retries_total
//	throttle_retry_calls_total
//	throttle_retry_budget
//	throttle_retry_arrivals_total
//	throttle_tunings_total
//	throttle_control_overrides
//	throttle_control_broken
//	throttle_control_changed_seconds
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
//
// # Spans
//
// An admitted call has a span if its context has a recording span; with [WithRootSpans], always. It
// is INTERNAL and named "throttle {name}". It starts with throttle.name, throttle.priority,
// throttle.decision and throttle.rejection_probability, which samplers see. If the throttle is a
// member of a Group, it has throttle.key. It ends with throttle.outcome and error.type. Its status
// is Error if the caller gets an error. If a fallback succeeds, the status is unset. The exemplars
// of the histogram lead to these spans. The span of a retry has throttle.retry.attempt, from 2 on,
// and a link to the span of the attempt before.
//
// A shed call has no span, because there would be too many of them during an overload. These events
// are added to the caller's span, if it is recording:
//
//   - throttle.shed, if a throttle sheds a call: throttle.name, throttle.priority, throttle.cause,
//     throttle.rejection_probability, and throttle.key for a member of a Group.
//   - throttle.policy.changed, on the span of the call that began or ended an alert of the policy
//     Tiered: throttle.name, throttle.policy.alert, throttle.policy.background, and throttle.key for a
//     member of a Group.
//   - throttle.breaker.shed, if a breaker sheds a call: throttle.breaker.name, throttle.breaker.state,
//     and with [WithBreakerDetail] tenant and key.
//   - throttle.bucket.denied, if a request for tokens is denied: throttle.bucket.name,
//     throttle.bucket.tokens (the number requested), throttle.bucket.source (store, policy or lease:
//     which decided) and throttle.bucket.retry_after in seconds. If the store failed, the event has
//     error.type instead of retry_after.
//   - throttle.bucket.waited, if a request waited for tokens: throttle.bucket.name,
//     throttle.bucket.tokens, throttle.bucket.duration in seconds, and error.type if it got none. The
//     error.type is shed if the tokens would have come too late, or if the limiter was closed.
//   - throttle.backoff.slept, if a call waited for a backoff: throttle.backoff.name,
//     throttle.backoff.duration in seconds, and error.type if its context ended first, or shed if the
//     backoff was closed.
//   - throttle.retry.denied, if a failed call is not retried: throttle.retry.name,
//     throttle.retry.reason, throttle.retry.attempt.
//   - throttle.tuned, on the span of the request or of the call of Apply that changed settings:
//     throttle.tuning.kind, throttle.tuning.name, throttle.tuning.source, throttle.tuning.result,
//     throttle.tuning.values, throttle.tuning.by, throttle.tuning.reason.
//
// # Cost
//
// Counters and gauges, except throttle.retry.arrivals, are read when a reader collects, and cost nothing on
// a call:
//
//   - A call through a throttle costs one reading of the clock and one Record on the histogram. It
//     allocates nothing. With [WithoutDuration] and [WithoutSpans], it costs nothing.
//   - A call under a recording span costs a span. A shed call costs nothing, unless the caller's span is
//     recording.
//   - A store call of a bucket costs one Record. With a store in memory, a request costs nothing, unless
//     it is denied or waits under a recording span.
//   - A wait for a backoff costs one Record. A call that does not wait costs nothing.
//
// The numbers are in internal/benchmarks. Run go test -bench . in this folder to measure them.
//
// # How many series
//
// The name of a throttle starts with 7 series per priority and eight more: 36 with four priorities.
// With the policy SRE there are five fewer.
// More series start when calls end in new ways: per priority at most 137 of throttle.calls, 60 of
// throttle.fallbacks and 45 of throttle.call.duration, each 18 series in Prometheus. With the
// default classification, calls have about 15 ways to end, and most backends use few of them. Keep
// the number of names small. The SDK has a limit of 2000 sets of attributes per instrument, and
// sums up the others as otel.metric.overflow.
//
// A Group has one name, and therefore the series of one throttle. [WithGroupDetail] multiplies them
// by the number of keys, up to its limit and one more.
//
// A breaker has 27 series for any number of circuits, one more with FailClosed, and at most three
// more in ModeShadow. [WithBreakerDetail] adds up to its limit in each process, and starts new ones
// when other circuits open. With a limit of 20, ten processes have up to 200 at a time. Each
// circuit that opens adds one per process, and Prometheus keeps them all.
//
// A limiter has 8 series for any number of keys. If its store is not in memory, it has one more of
// throttle.bucket.store.duration, and one for each kind of error. There are 14 kinds, of which
// stores have few. Each is 18 series in Prometheus. A Responsive has 7 series, and after the first
// wait one of throttle.backoff.sleep.duration, which is 18 in Prometheus. A Retrier has 15 series with
// three attempts.
//
// # Views
//
// A View of the MeterProvider drops or renames metrics and attributes. Package
// [github.com/spillway-go/spillway/otelthrottle/semconv] has their names. These two have fewer series of durations, and no
// fallbacks:
//
//	metric.NewView(metric.Instrument{Name: semconv.MetricCallDuration}, metric.Stream{
//		AttributeFilter: attribute.NewDenyKeysFilter(semconv.KeyErrorType),
//	})
//	metric.NewView(metric.Instrument{Name: semconv.MetricFallbacks}, metric.Stream{Aggregation: metric.AggregationDrop{}})
//
// A View with metric.AggregationBase2ExponentialHistogram makes native histograms of the durations.
// The bundled dashboards and rules work with both.
//
// [WithoutDuration] is better than a View that drops the histogram, because calls do not record
// then.
//
//   - An attribute that a View drops from the histogram becomes a label of exemplars. OpenMetrics limits
//     those to 128 runes, of which trace and span take half. There is space for error.type, but not for
//     error.type, outcome and priority. Then there are no exemplars, and otel.Handle gets an error at
//     each scrape.
//   - Do not drop attributes of gauges. If several series become one, the SDK keeps the last value, not
//     the highest. Use max by (throttle_name) in the query instead.
//   - Exemplars need EnableOpenMetrics in promhttp.HandlerOpts (promhttp.Handler does not set it), a
//     sampled span, and a Prometheus server with --enable-feature=exemplar-storage. Do not use the
//     exemplar filter always_on: it gives observed counters empty exemplars.
//   - Delta temporality works. The SDK computes the differences.
//   - If two Telemetry use one MeterProvider, their values for the same name are summed up. When one is
//     shut down, the sum decreases. Make one per process.
package otelthrottle
