// Package otelthrottle turns what throttles, breakers, buckets and backoffs do into OpenTelemetry: every decision counted by priority, the
// live probability of shedding, the durations of calls with exemplars, spans, what is known of circuits, what became of requests for
// tokens, and how long callers are kept waiting.
//
// Make one [Telemetry] per process and hand its Hooks to every throttle, its BreakerHooks to every breaker, its BucketHooks to every limiter,
// its BackoffHooks to every Responsive. The package imports the OpenTelemetry API only; SDK and exporters are the application's. For
// Prometheus:
//
//	exporter := throttle.Must(otelprometheus.New())
//	meters := metric.NewMeterProvider(metric.WithReader(exporter))
//	tel := throttle.Must(otelthrottle.New(otelthrottle.WithMeterProvider(meters)))
//	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()}))
//	metrics := promhttp.HandlerFor(prometheus.DefaultGatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
//	http.Handle("/metrics", metrics)
//
// For OTLP, to where OTEL_EXPORTER_OTLP_ENDPOINT says:
//
//	points, spans := throttle.Must(otlpmetrichttp.New(ctx)), throttle.Must(otlptracehttp.New(ctx))
//	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(points)))
//	tracers := trace.NewTracerProvider(trace.WithBatcher(spans))
//	providers := []otelthrottle.Option{otelthrottle.WithMeterProvider(meters), otelthrottle.WithTracerProvider(tracers)}
//	tel := throttle.Must(otelthrottle.New(providers...))
//	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()}))
//
// Without these options the global providers are used. At the end, when no more calls come, shut down in this order, and nothing is lost:
// [Telemetry.Shutdown], which flushes the MeterProvider; then throttles, breakers, limiters and backoffs; then the providers. The series of
// what is closed earlier have ended, and what it counted since the last collection is lost. Deferred calls run in reverse: a program
// that defers Close where it makes a throttle calls Shutdown, or ForceFlush of the MeterProvider, before it returns.
//
// # Metrics of throttles
//
// All have the attribute throttle.name, and all but throttle.priority.clamped have throttle.priority.
//
//	metric                         instrument       unit       further attributes
//	throttle.calls                 counter          {call}     throttle.decision, throttle.outcome, error.type, throttle.cause
//	throttle.call.duration         histogram        s          throttle.outcome, error.type
//	throttle.call.active           up-down counter  {call}
//	throttle.rejection_probability gauge            1
//	throttle.window.requests       gauge            {request}
//	throttle.window.accepts        gauge            {request}
//	throttle.fallbacks             counter          {call}     throttle.outcome, error.type
//	throttle.priority.clamped      counter          {call}
//
// The values of the attributes are words from closed sets, but for the name:
//
//	throttle.priority   high, important, medium, low, p4 to p15
//	throttle.decision   admitted, shed, shadow_shed (let through by Shadow)
//	throttle.outcome    accepted, rejected, ignored, shed
//	throttle.cause      own, above: whose rejections were the reason; for shed and shadow_shed
//	error.type          a throttle.Fault, with _OTHER for other; shed for shed calls; absent where there was no error
//
// The outcome and the error.type of a fallback are two things: why it ran, and how it failed itself, if it did. The
// histogram has admitted calls only. Accepted and shed calls (of both causes) are there from 0, for every priority, so that a rate
// has a beginning; other series begin with their first call.
//
// # Metrics of breakers
//
// All have the attribute throttle.breaker.name. What can be is there from 0, for every state and kind of failure; calls that ModeShadow
// lets through (shadow_shed) begin with the first of them, and the age with the first reading of the store.
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
//	throttle.breaker.state    closed, open, half_open, disabled: of transitions the state that was entered
//	throttle.breaker.failure  store, poll, counts, notify, record, loss, fenced, conflict, lease, settings, hook, not_running: a breaker.Failure
//
// Every process of a fleet sees all its circuits, so ask for max by (throttle_breaker_name, throttle_breaker_state) of them, and for the
// sum of the others: a transition is told by the one process that made it. A breaker whose store is in memory has a fleet of one in
// each process.
//
// The gauge throttle.breaker.circuit is only there with [WithBreakerDetail], and tells which circuits are not closed: a series of the
// value 1 for each, the disabled first, then the open and the half-open, of each the last to change, up to the limit. What is not
// UTF-8 in a tenant or a key is replaced, and what is longer than 128 bytes is cut; then a fingerprint of the key ends it.
//
// # Metrics of buckets
//
// All have the attribute throttle.bucket.name, which is the limiter's. Keys are not told: a limiter may have a bucket for each of your users.
//
//	metric                          instrument       unit       further attributes
//	throttle.bucket.requests        counter          {request}  throttle.bucket.result
//	throttle.bucket.tokens          counter          {token}
//	throttle.bucket.waiting         up-down counter  {request}
//	throttle.bucket.store.duration  histogram        s          error.type
//
//	throttle.bucket.result  granted, denied, failed_open, failed_closed: the last two where the store gave no answer, and the policy decided
//
// The results, the tokens granted and those who wait are there from 0. A question to the store may be for many requests, which are asked
// for together; so the count of the histogram is that of questions, and that of requests is throttle.bucket.requests. Of limiters in memory,
// which ask nobody, there are no durations. The error.type is a throttle.Fault, as above, and absent where the store answered: a
// denial is an answer. Its bounds are 0.1 ms, 0.25, 0.5, 1 and so on to 500 ms, then 1 s, 10 s and 60 s: 50 ms, the default of
// Config.StoreTimeout, is one of them, so that what timed out is beyond.
//
// Policies differ: with LocalShare a request that the store did not answer is failed_open if the share of the limit had tokens left, and
// failed_closed otherwise.
//
// # Metrics of backoffs
//
// All have the attribute throttle.backoff.name, which is the Responsive's. Everything but the histogram is there from 0.
//
//	metric                           instrument       unit    further attributes
//	throttle.backoff.delay           gauge            s
//	throttle.backoff.steps           counter          {step}  throttle.backoff.direction
//	throttle.backoff.calls           counter          {call}  throttle.backoff.outcome
//	throttle.backoff.waiting         up-down counter  {call}
//	throttle.backoff.sleep.duration  histogram        s
//
//	throttle.backoff.direction  up, down: a step up at the longest delay is one, though nothing moves
//	throttle.backoff.outcome    success, throttled, ignored: what a call said about the rate, and nothing else
//
// The delay is that of the mode: in Pace the gap between two calls of all workers, and in Sleep what each of them sleeps. Of several with one
// name, in a process, the highest is told; each process has a delay of its own, so ask for max of them too. The histogram has those waits
// only that were not over at once, also of callers who gave up, and is in the mode Pace the time in line, which is longer than the gap. Its
// bounds are 1 ms, 2.5, 10, 25, 100, 250 and 500 ms, 1 s, 2.5, 5, 10, 30 and 60 s, 5 min and 15 min: the longest delays that the
// two modes have by default are bounds.
//
// A permit that is never done is no call. Those that are under way when a Responsive is closed are told of only if somebody waits still.
//
// # Series in Prometheus
//
// Prometheus calls the series so, and writes attributes with underscores for dots, if the exporter is left its defaults: another
// translation strategy, WithoutUnits, WithoutCounterSuffixes and WithNamespace change the names, and dashboards do not find them:
//
//	throttle_calls_total
//	throttle_call_duration_seconds
//	throttle_call_active
//	throttle_rejection_probability_ratio
//	throttle_window_requests
//	throttle_window_accepts
//	throttle_fallbacks_total
//	throttle_priority_clamped_total
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
//	throttle_bucket_store_duration_seconds
//	throttle_backoff_delay_seconds
//	throttle_backoff_steps_total
//	throttle_backoff_calls_total
//	throttle_backoff_waiting
//	throttle_backoff_sleep_duration_seconds
//
// The label otel_scope_version changes with releases of this package: aggregate it away, as in
// sum by (throttle_name, throttle_priority) (rate(throttle_calls_total{throttle_decision="shed"}[1m])).
//
// All throttles of one name, such as the members of a Group, are one source. Their counters are added up, those of closed ones are
// kept, and so nothing ever falls; the probability is the highest of them, window and active calls are sums. When the last is closed, the
// series end, all but those of the histograms, which the SDK keeps until the MeterProvider is shut down. When the name returns they
// resume where they were. Calls begun after Close are not told of. The managers of one name are one source in the same way; of their
// circuits by state, and of their ages, the highest is told. So are the limiters of one name, and the backoffs, whose delay is the highest.
//
// A throttle whose Config.Now panics ends no collection: all of its name are left out of it, because a sum without one would fall, and
// otel.Handle is told why.
//
// # Spans
//
// An admitted call is a span, INTERNAL, named "throttle {name}", if its context has a span that is recording; with
// [WithRootSpans] always. It starts with throttle.name, throttle.priority, throttle.decision and throttle.rejection_probability, which
// samplers see, and ends with throttle.outcome and error.type. Its status is Error if the caller gets an error, and unset
// otherwise: a fallback that served is a success. The exemplars of the histogram lead to these spans.
//
// A call that is shed has no span: an overload would multiply them just when there is least room. It adds an event
// throttle.shed, with throttle.name, throttle.priority, throttle.cause and throttle.rejection_probability, to the caller's span.
// A call that a breaker sheds adds an event throttle.breaker.shed, with throttle.breaker.name and throttle.breaker.state; tenant and
// key are told only with [WithBreakerDetail].
//
// A request for tokens that is denied adds an event throttle.bucket.denied, with throttle.bucket.name, throttle.bucket.tokens (as many as were
// asked for), throttle.bucket.source (store, policy or lease: who decided) and throttle.bucket.retry_after in seconds, to the caller's span. If
// it is denied because the store gave no answer, nobody knows when to come again, and there is the error.type instead. One that has stood in
// line adds an event throttle.bucket.waited, with throttle.bucket.name, throttle.bucket.tokens, throttle.bucket.duration in seconds, and
// the error.type if it got none: shed for one that would have come too late, or whose limiter was closed.
//
// A call that a backoff has kept waiting adds an event throttle.backoff.slept, with throttle.backoff.name, throttle.backoff.duration in seconds,
// and the error.type if its context ended first, or shed if it was closed, to the caller's span.
//
// # Cost
//
// What is counted is read from the counters of throttles, breakers, limiters and backoffs when somebody collects, and costs nothing on a call. A call
// through a throttle takes one more reading of the clock and one Record on the histogram, with attributes that were made beforehand;
// nothing is allocated. With [WithoutDuration] and [WithoutSpans] a throttle does what it does without hooks. A call under a recording span
// costs a span. A call that is shed costs nothing more, unless the caller's span is recording. A question to the store of a bucket costs one
// Record; a request to a bucket in memory costs nothing more, unless it is denied or waits under a recording span. A wait for a
// backoff costs one Record, and a call that need not wait costs nothing more. The numbers are in internal/benchmarks, and go test -bench .
// in this folder prints them too.
//
// # How many series
//
// A throttle's name starts with 7 series per priority and one more: 29 with four priorities. Others come as calls end in new ways:
// per priority at most 137 of throttle.calls, 60 of throttle.fallbacks and 45 of throttle.call.duration, each 18 series in Prometheus. With
// the default classification calls have about 15 ways to end, and a backend rarely knows more than a few of them. Keep the
// number of names small: the SDK has a limit of 2000 sets of attributes per instrument, and adds up what is beyond as
// otel.metric.overflow. A Group has one name, however many members.
//
// A breaker has 27 series, however many circuits, one more with FailClosed, and at most three in ModeShadow. [WithBreakerDetail] adds up to
// its limit in each process, and makes new ones whenever other circuits open: with a limit of 20 and ten processes 200 at a time,
// and in a day ten for each circuit that came and went. Prometheus keeps them all.
//
// A limiter has 6 series, however many keys. One whose store is not in memory has one of throttle.bucket.store.duration more, and one for each
// kind of error, of which there are 14 and stores know few; each is 18 series in Prometheus.
//
// A Responsive has 7 series, and one more of throttle.backoff.sleep.duration, which is 18 in Prometheus, from its first wait on.
//
// # Views
//
// A View of the MeterProvider drops or renames what you do not want. Fewer series of durations, and none at all:
//
//	metric.NewView(metric.Instrument{Name: otelthrottle.MetricCallDuration}, metric.Stream{
//		AttributeFilter: attribute.NewDenyKeysFilter(otelthrottle.KeyErrorType),
//	})
//	metric.NewView(metric.Instrument{Name: otelthrottle.MetricFallbacks}, metric.Stream{Aggregation: metric.AggregationDrop{}})
//
// [WithoutDuration] is better than dropping the histogram, because it also spares the calls.
//
//   - What a View drops from the histogram becomes labels of exemplars, for which OpenMetrics has 128 runes, and trace and span take
//     half. To drop error.type leaves room; to drop error.type, outcome and priority does not, and then there are no exemplars, but
//     an error in otel.Handle at every scrape.
//   - Do not drop attributes of gauges. The SDK keeps the last value of those that become one, not the highest: leave them, and
//     ask for max by (throttle_name) in the query.
//   - Exemplars need EnableOpenMetrics in promhttp.HandlerOpts (promhttp.Handler does not set it), a sampled span, and a
//     Prometheus server with --enable-feature=exemplar-storage. The exemplar filter always_on gives observed counters empty exemplars: do
//     not use it.
//   - Delta temporality works: the SDK takes the differences.
//   - Two Telemetry on one MeterProvider add up what they tell under the same name, and when one is shut down the sum falls: make
//     one per process.
package otelthrottle
