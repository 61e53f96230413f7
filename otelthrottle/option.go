package otelthrottle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// Option changes what [New] and [Install] return. They ignore a nil Option.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// config is the result of all options.
type config struct {
	meterProvider   metric.MeterProvider
	ownMeters       bool // meterProvider is not the global one
	tracerProvider  trace.TracerProvider
	attributes      []attribute.KeyValue
	spanName        func(name string, p throttle.Priority) string
	filter          func(ctx context.Context, name string, p throttle.Priority) bool
	rootSpans       bool
	withoutSpans    bool
	withoutDuration bool
	breakerDetail   int
	groupDetail     int
	objective       objective
	process         func() throttle.ProcessorStats
}

func newConfig(options []Option) config {
	c := config{
		meterProvider:  otel.GetMeterProvider(),
		tracerProvider: otel.GetTracerProvider(),
		spanName:       func(name string, _ throttle.Priority) string { return "throttle " + name },
		process:        throttle.Processor,
	}
	for _, o := range options {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// maxBreakerDetail is the highest limit of WithBreakerDetail. The SDK keeps 2000 series of an
// instrument, which is enough for two breakers.
const maxBreakerDetail = 1000

func (c *config) validate() error {
	var errs []error
	if c.breakerDetail < 0 || c.breakerDetail > maxBreakerDetail {
		errs = append(errs, fmt.Errorf("otelthrottle: WithBreakerDetail(%d): want 0 (no detail) to %d", c.breakerDetail, maxBreakerDetail))
	}
	if c.groupDetail < 0 || c.groupDetail > maxGroupDetail {
		errs = append(errs, fmt.Errorf("otelthrottle: WithGroupDetail(%d): want 0 (no detail) to %d", c.groupDetail, maxGroupDetail))
	}
	errs = append(errs, c.objective.validate())
	if i := slices.IndexFunc(c.attributes, func(kv attribute.KeyValue) bool { return !kv.Valid() }); i >= 0 {
		errs = append(errs, fmt.Errorf("otelthrottle: WithAttributes: attribute %d of %d has no key", i+1, len(c.attributes)))
	}
	return errors.Join(errs...)
}

// commonAttributes returns the user's attributes, which are on all series and spans.
func (c *config) commonAttributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(c.attributes), func(kv attribute.KeyValue) bool { return isOwn(kv.Key) })
}

// flusher is a MeterProvider with ForceFlush. The API has no such method, the SDK does.
type flusher interface {
	ForceFlush(context.Context) error
}

// flusher returns the provider to flush, or nil. If the application sets the global provider later,
// the early one forwards measurements to it but not flushes. The current one is then flushed.
func (c *config) flusher() flusher {
	f, ok := c.meterProvider.(flusher)
	if !ok && !c.ownMeters {
		f, _ = otel.GetMeterProvider().(flusher)
	}
	return f
}

// WithMeterProvider uses a meter of provider. The default, and nil, is the global provider.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return option(func(c *config) {
		if provider != nil {
			c.meterProvider, c.ownMeters = provider, true
		}
	})
}

// WithTracerProvider uses a tracer of provider. The default, and nil, is the global provider.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return option(func(c *config) {
		if provider != nil {
			c.tracerProvider = provider
		}
	})
}

// WithAttributes adds attributes to every metric and every span. It ignores error.type, objective
// and all that begin with "throttle.", because this package sets those. If an attribute has no key, [New] returns an error.
func WithAttributes(attributes ...attribute.KeyValue) Option {
	attributes = slices.Clone(attributes)
	return option(func(c *config) { c.attributes = append(c.attributes, attributes...) })
}

// WithRootSpans starts a span for every admitted call. By default, only a call under a recording
// span has one.
func WithRootSpans() Option {
	return option(func(c *config) { c.rootSpans = true })
}

// WithoutSpans starts no spans, and adds no events to the spans of callers.
func WithoutSpans() Option {
	return option(func(c *config) { c.withoutSpans = true })
}

// WithoutDuration leaves out the histograms: durations of calls, of store calls and of waits. No
// other metric costs time on a call, except throttle.retry.arrivals of a retry that arrives.
func WithoutDuration() Option {
	return option(func(c *config) { c.withoutDuration = true })
}

// WithSpanNameFormatter sets the names of spans. The default is "throttle {name}". Keep the number
// of different names small. Nil changes nothing.
func WithSpanNameFormatter(format func(name string, p throttle.Priority) string) Option {
	return option(func(c *config) {
		if format != nil {
			c.spanName = format
		}
	})
}

// WithFilter starts spans, and adds events for shed calls, only if keep returns true. Metrics count
// all calls. The filter does not apply to the events of breakers, buckets, backoffs, retries and
// Controls, which have no priority. Nil changes nothing.
func WithFilter(keep func(ctx context.Context, name string, p throttle.Priority) bool) Option {
	return option(func(c *config) {
		if keep != nil {
			c.filter = keep
		}
	})
}

// WithBreakerDetail reports the circuits that are not closed, up to limit for each breaker, as the
// gauge throttle.breaker.circuit. It also adds tenant and key to the events throttle.breaker.shed.
//
// It is off by default. Keys may be data of your users, which then go wherever your telemetry goes,
// and each circuit that opens is a new series: see docs/series-and-cost.md. Limit
// is at most 1000; 0 is no detail.
func WithBreakerDetail(limit int) Option {
	return option(func(c *config) { c.breakerDetail = limit })
}

// WithGroupDetail adds the attribute throttle.key to the metrics of throttles that are members of a
// [throttle.Group]. The first limit keys of each name have series of their own. All other members of
// the name are summed up with the key _OTHER, as long as the process runs.
//
// The series of a key end when the group closes its throttle. When the key comes back, they go on from
// where they ended. What was counted after the last collection is exported only then. So let
// GroupConfig.Max be larger than the number of keys in use, and let queries add up rates, not counters.
//
// It is off by default, because it multiplies the series of a throttle by the number of keys. Spans
// and events have the key without it. Limit is at most 100; 0 is no detail.
func WithGroupDetail(limit int) Option {
	return option(func(c *config) { c.groupDetail = limit })
}
