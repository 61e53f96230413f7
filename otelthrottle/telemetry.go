package otelthrottle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/byname"
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
	instruments  instruments
	pushed       pushed
	registration metric.Registration
	shuttingDown atomic.Bool
	ended        atomic.Bool // after Shutdown: hooks and the callback do nothing

	throttles *throttleRegistry
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
		throttles: newThrottleRegistry(common, c.groupDetail),
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
		tel.breakers, tel.buckets, tel.backoffs, tel.retries, tel.controls, newProcessor(common, c.process), newObjective(common, c.objective),
	}
	var observed []metric.Observable
	for _, o := range tel.observers {
		if err := o.create(meter); err != nil {
			return nil, fmt.Errorf("otelthrottle: %w", err)
		}
		observed = append(observed, o.observed()...)
	}
	if tel.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	if tel.registration, err = meter.RegisterCallback(tel.collect, append(observed, tel.instruments.observed()...)...); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	return tel, nil
}

// valid reports whether tel was made by New.
func (tel *Telemetry) valid() bool { return tel != nil && tel.throttles != nil }

// join returns a Created hook that adds a member to a registry, until Shutdown.
func join[M comparable, S, R, A any](tel *Telemetry, r *byname.Registry[M, S, R, A]) func(M) {
	return func(m M) {
		if !tel.ended.Load() {
			r.Join(m)
		}
	}
}

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

// instruments are all metrics. All but the histograms and throttle.retry.arrivals are observed: their
// values are read at collection, so that they cost nothing on a call.
type instruments struct {
	throttles throttleInstruments
}

func newInstruments(meter metric.Meter) (instruments, error) {
	var i instruments
	var err error
	i.throttles, err = newThrottleInstruments(meter)
	return i, err
}

// observed returns the instruments that the callback reports.
func (i *instruments) observed() []metric.Observable {
	return i.throttles.observed()
}
