package otelthrottle

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// Option changes what [New] makes. A nil Option is passed over.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// config is what the options say.
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
}

func newConfig(options []Option) config {
	c := config{
		meterProvider:  otel.GetMeterProvider(),
		tracerProvider: otel.GetTracerProvider(),
		spanName:       func(name string, _ throttle.Priority) string { return "throttle " + name },
	}
	for _, o := range options {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// mostDetail is the highest limit of WithBreakerDetail. The SDK adds up what is beyond 2000 series of an instrument; this leaves
// room for two breakers.
const mostDetail = 1000

func (c *config) validate() error {
	if c.breakerDetail < 0 || c.breakerDetail > mostDetail {
		return fmt.Errorf("otelthrottle: WithBreakerDetail(%d): want 0 (no detail) to %d", c.breakerDetail, mostDetail)
	}
	if i := slices.IndexFunc(c.attributes, func(kv attribute.KeyValue) bool { return !kv.Valid() }); i >= 0 {
		return fmt.Errorf("otelthrottle: WithAttributes: attribute %d of %d has no key", i+1, len(c.attributes))
	}
	return nil
}

// constants are the attributes of the user that are on everything.
func (c *config) commonAttributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(c.attributes), func(kv attribute.KeyValue) bool { return slices.Contains(ownKeys(), kv.Key) })
}

// flusher is a MeterProvider that sends what there is to send when it is asked to, which the API does not know of.
type flusher interface {
	ForceFlush(context.Context) error
}

// flusher returns whoever sends the metrics, or nil. The global provider of a program that had set none yet passes on to the one that it
// sets then, but not flushes.
func (c *config) flusher() flusher {
	f, ok := c.meterProvider.(flusher)
	if !ok && !c.ownMeters {
		f, _ = otel.GetMeterProvider().(flusher)
	}
	return f
}

// WithMeterProvider takes the meter from provider. Nil keeps the global provider, which is the default.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return option(func(c *config) {
		if provider != nil {
			c.meterProvider, c.ownMeters = provider, true
		}
	})
}

// WithTracerProvider takes the tracer from provider. Nil keeps the global provider, which is the default.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return option(func(c *config) {
		if provider != nil {
			c.tracerProvider = provider
		}
	})
}

// WithAttributes adds attributes to every metric and every span, beside those of the schema. Those whose keys are the schema's, such as
// error.type, are left out, because the schema also says where they are absent. One without a key is an error of [New].
func WithAttributes(attributes ...attribute.KeyValue) Option {
	attributes = slices.Clone(attributes)
	return option(func(c *config) { c.attributes = append(c.attributes, attributes...) })
}

// WithRootSpans makes a span for every admitted call, and not only for those whose context has a span that is recording.
func WithRootSpans() Option {
	return option(func(c *config) { c.rootSpans = true })
}

// WithoutSpans makes no spans, and adds nothing to those of callers.
func WithoutSpans() Option {
	return option(func(c *config) { c.withoutSpans = true })
}

// WithoutDuration leaves out the histograms of durations, of calls, of the stores of buckets and of what backoffs slept, the only metrics that
// cost something per call.
func WithoutDuration() Option {
	return option(func(c *config) { c.withoutDuration = true })
}

// WithSpanNameFormatter names spans. The default is "throttle {name}". Keep the number of names small. Nil changes nothing.
func WithSpanNameFormatter(format func(name string, p throttle.Priority) string) Option {
	return option(func(c *config) {
		if format != nil {
			c.spanName = format
		}
	})
}

// WithFilter makes spans only for calls for which keep reports true, and adds shed events only for those. Metrics count all
// calls, and the events of breakers, buckets and backoffs, which know no priority, are not asked about. Nil changes nothing.
func WithFilter(keep func(ctx context.Context, name string, p throttle.Priority) bool) Option {
	return option(func(c *config) {
		if keep != nil {
			c.filter = keep
		}
	})
}

// WithBreakerDetail also tells which circuits are not closed: up to limit of each breaker, as the gauge throttle.breaker.circuit, and
// adds tenant and key to the events throttle.breaker.shed. It is off by default, because keys are data of your users: they make new
// series whenever another circuit opens, and go wherever your telemetry goes. See the package comment for how many series that is.
// At most 1000; 0 is no detail.
func WithBreakerDetail(limit int) Option {
	return option(func(c *config) { c.breakerDetail = limit })
}
