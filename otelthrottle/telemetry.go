package otelthrottle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// Telemetry reports what throttles, breakers, buckets and backoffs do as OpenTelemetry metrics and
// spans. Make one per process with [New] or [Install]. Hand its Hooks to every throttle,
// BreakerHooks to every breaker, BucketHooks to every limiter, BackoffHooks to every Responsive,
// RetryHooks to every Retrier and ControlHooks to the Control. All methods are safe for concurrent use. The hooks of a nil or zero Telemetry are empty.
type Telemetry struct {
	config
	tracer       trace.Tracer
	pushed       pushed
	registration metric.Registration
	shuttingDown atomic.Bool
	ended        atomic.Bool // after Shutdown: hooks and the callback do nothing

	throttles *throttleSystem
	breakers  *named[*breaker.Manager, breakerSnapshot, breakerSum]
	buckets   *named[*bucket.Limiter, bucket.Stats, bucketSum]
	backoffs  *named[*backoff.Responsive, backoff.Stats, backoff.Stats]
	retries   *named[*retry.Retrier, retry.Stats, retry.Stats]
	controls  *named[*control.Control, control.Stats, controlSum]
	observers []observer // all of them
}

// New returns a Telemetry. It returns an error if an option is out of range, if an attribute has no
// key, or if the meter refuses an instrument.
func New(options ...Option) (*Telemetry, error) {
	c := newConfig(options)
	if err := c.validate(); err != nil {
		return nil, err
	}
	common := c.commonAttributes()
	tel := &Telemetry{
		config:    c,
		tracer:    c.tracerProvider.Tracer(ScopeName, trace.WithInstrumentationVersion(Version)),
		throttles: newThrottles(common, c.groupDetail),
		breakers:  newBreakers(common, c.breakerDetail),
		buckets:   newBuckets(common),
		backoffs:  newBackoffs(common),
		retries:   newRetries(common),
		controls:  newControls(common),
	}
	meter := c.meterProvider.Meter(ScopeName, metric.WithInstrumentationVersion(Version))
	var err error
	if tel.pushed, err = newPushed(meter, !c.withoutDuration); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	tel.observers = []observer{
		tel.throttles, tel.breakers, tel.buckets, tel.backoffs, tel.retries, tel.controls,
		newProcessor(common, c.process), newObjective(common, c.objective),
	}
	var observed []metric.Observable
	for _, o := range tel.observers {
		instruments, err := o.create(meter)
		if err != nil {
			return nil, fmt.Errorf("otelthrottle: %w", err)
		}
		observed = append(observed, instruments...)
	}
	if tel.registration, err = meter.RegisterCallback(tel.collect, observed...); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	return tel, nil
}

// valid reports whether tel was made by New.
func (tel *Telemetry) valid() bool { return tel != nil && tel.throttles != nil }

// Shutdown flushes the MeterProvider, if it has a method ForceFlush like that of the SDK. Then it
// ends the telemetry, also if the flush failed: later collections have only the histograms and
// throttle.retry.arrivals, which the SDK keeps, and all hooks do nothing. Throttles, breakers, buckets and backoffs go on working. Ctx is the context of the
// flush. Calls after the first do nothing and return nil.
//
// Close everything that has the hooks after Shutdown, because a name whose members are
// all closed has no series to flush. Shut down the providers last. Shutdown leaves them to the
// caller.
func (tel *Telemetry) Shutdown(ctx context.Context) error {
	if !tel.valid() || tel.shuttingDown.Swap(true) {
		return nil
	}
	err := tel.flush(ctx) // before the callback ends, because the flush calls it
	tel.ended.Store(true)
	if err = errors.Join(err, tel.registration.Unregister()); err != nil {
		return fmt.Errorf("otelthrottle: %w", err)
	}
	return nil
}

// flush makes the MeterProvider send what was counted since it last did. A provider with pull
// readers only, such as the Prometheus exporter, sends nothing.
func (tel *Telemetry) flush(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if f := tel.flusher(); f != nil {
		return f.ForceFlush(ctx)
	}
	return nil
}

// collect reports everything that is not pushed. It is the callback of the meter, and holds no lock of its own while it runs.
func (tel *Telemetry) collect(_ context.Context, to metric.Observer) error {
	if tel.ended.Load() {
		return nil
	}
	for _, o := range tel.observers {
		o.collect(to)
	}
	return nil
}
