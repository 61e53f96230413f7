package otelthrottle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// Telemetry turns what throttles, breakers, buckets and backoffs do into OpenTelemetry. Make one per process with [New], and hand its Hooks
// to every throttle, its BreakerHooks to every breaker, its BucketHooks to every limiter and its BackoffHooks to every Responsive. All
// methods are safe for concurrent use. A nil or zero Telemetry tells nothing: its hooks listen to nothing.
type Telemetry struct {
	config
	tracer       trace.Tracer
	instruments  instruments
	registration metric.Registration
	ending       atomic.Bool // Shutdown has begun
	ended        atomic.Bool // nothing is told any more

	throttles *throttles
	breakers  *breakers
	buckets   *buckets
	backoffs  *backoffs
}

// New returns the adapter, or an error if an option is out of range, an attribute has no key, or the meter refuses an instrument.
func New(options ...Option) (*Telemetry, error) {
	c := newConfig(options)
	if err := c.validate(); err != nil {
		return nil, err
	}
	constants := c.constants()
	tel := &Telemetry{
		config:    c,
		tracer:    c.tracerProvider.Tracer(ScopeName, trace.WithInstrumentationVersion(Version)),
		throttles: newThrottles(constants),
		breakers:  newBreakers(constants, c.breakerDetail),
		buckets:   newBuckets(constants),
		backoffs:  newBackoffs(constants),
	}
	meter := c.meterProvider.Meter(ScopeName, metric.WithInstrumentationVersion(Version))
	var err error
	if tel.instruments, err = newInstruments(meter, !c.withoutTimes); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	if tel.registration, err = meter.RegisterCallback(tel.collect, tel.instruments.observed()...); err != nil {
		return nil, fmt.Errorf("otelthrottle: %w", err)
	}
	return tel, nil
}

// made reports whether tel came from New.
func (tel *Telemetry) made() bool { return tel != nil && tel.throttles != nil }

// Shutdown flushes the MeterProvider, if that has a method ForceFlush as the SDK's has, and then ends the telemetry, also if the flush
// failed: all series end with the next collection, and hooks say nothing any more. Throttles, breakers, buckets and backoffs go on working.
// It is idempotent. The context is that of the flush. What is closed by then is not told of, so close it afterwards; the providers, which
// are the caller's to shut down, come last.
func (tel *Telemetry) Shutdown(ctx context.Context) error {
	if !tel.made() || tel.ending.Swap(true) {
		return nil
	}
	err := tel.flush(ctx) // while there is what it flushes: without the callback no counter is read any more
	tel.ended.Store(true)
	if err = errors.Join(err, tel.registration.Unregister()); err != nil {
		return fmt.Errorf("otelthrottle: %w", err)
	}
	return nil
}

// flush has the MeterProvider send what was counted since it last did. A provider that only answers who asks sends nothing.
func (tel *Telemetry) flush(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if f := tel.flusher(); f != nil {
		return f.ForceFlush(ctx)
	}
	return nil
}

// Hooks returns the hooks for a throttle's Config. Several throttles may share them. Give them to a throttle once: joined with themselves, or
// with others of this Telemetry, they still count each call once, but record its duration twice, and start two spans, one of which may
// never end.
func (tel *Telemetry) Hooks() throttle.Hooks {
	if !tel.made() {
		return throttle.Hooks{}
	}
	b := &binding{telemetry: tel, duration: tel.instruments.duration}
	h := throttle.Hooks{Created: b.created, Closed: b.closed}
	if !tel.withoutSpans {
		h.Shed = b.shed
		h.Started = b.started
	}
	if !tel.withoutSpans || !tel.withoutTimes {
		h.Finished = b.finished
	}
	return h
}

// member is a throttle that is being told of.
type member struct {
	throttle *throttle.Throttle
	labels   *labels // its source's
}

// binding is one set of hooks. It remembers the first throttle that it was given to, which mostly is the only one.
type binding struct {
	telemetry *Telemetry
	duration  metric.Float64Histogram // nil without durations
	first     atomic.Pointer[member]
}

// created makes the throttle known. Throttles of one name share a source.
func (b *binding) created(t *throttle.Throttle) {
	known := b.telemetry.throttles
	known.Join(t)
	b.first.CompareAndSwap(nil, &member{throttle: t, labels: known.Of(t).Data})
}

func (b *binding) closed(t *throttle.Throttle) { b.telemetry.throttles.Leave(t) }

// labelsOf returns the labels of a throttle. A call that is still in flight long after its throttle was closed finds them by
// name; a throttle that was made before the hooks knew of it has none.
func (b *binding) labelsOf(t *throttle.Throttle) *labels {
	if m := b.first.Load(); m != nil && m.throttle == t {
		return m.labels
	}
	if s := b.telemetry.throttles.Of(t); s != nil {
		return s.Data
	}
	return nil
}
