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
// when it is closed, and those that begin at a throttle after that. With [WithGroupDetail], what is said
// here of a name holds for each key that has series: they end when the Group closes the throttle of the key.
//
// # Metrics
//
// docs/metrics.md lists all metrics with their attributes, and the series that Prometheus shows. The comment of
// package [github.com/spillway-go/spillway/otelthrottle/semconv] explains them.
//
// # Spans
//
// An admitted call has a span if its context has a recording span; with [WithRootSpans], always. It
// is INTERNAL and named "throttle {name}"; [WithSpanNameFormatter] sets another name, and [WithFilter]
// selects calls. It starts with throttle.name, throttle.priority,
// throttle.decision and throttle.rejection_probability, which samplers see. If the throttle is a
// member of a Group, it has throttle.key. It ends with throttle.outcome and error.type, and with
// throttle.overloaded if a full backend rejected the call ([throttle.MarkOverloaded]). Its status
// is Error if the caller gets an error. If a fallback succeeds, the status is unset. The exemplars
// of the histogram lead to these spans. The span of a retry has throttle.retry.attempt, from 2 on,
// and a link to the span of the attempt before.
//
// A shed call has no span, because there would be too many of them during an overload. These events
// are added to the caller's span, if it is recording:
//
//   - throttle.shed, if a throttle sheds a call: throttle.name, throttle.priority, throttle.cause,
//     throttle.rejection_probability, throttle.key for a member of a Group, and throttle.tenant.above if
//     the tenant of the call takes more than its share ([throttle.WithTenant]).
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
// # Series and cost
//
// Counters and gauges, except throttle.retry.arrivals, are read when a reader collects, and cost nothing on
// a call. docs/series-and-cost.md has the number of series of each system, what bounds them, and what a call
// costs.
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
