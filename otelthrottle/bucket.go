package otelthrottle

import (
	"context"
	"errors"
	"math"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// BucketHooks returns the hooks for a limiter's Config. Several limiters may share them. A request to a bucket in memory costs nothing
// more with them, unless it is denied or waits under a recording span.
func (tel *Telemetry) BucketHooks() bucket.Hooks {
	if !tel.made() {
		return bucket.Hooks{}
	}
	h := bucket.Hooks{Created: tel.buckets.Join, Closed: tel.buckets.Leave}
	if !tel.withoutTimes {
		h.Asked = tel.asked
	}
	if !tel.withoutSpans {
		h.Denied = tel.denied
		h.Waited = tel.waited
	}
	return h
}

// asked records how long a store took, in the context of whoever asked, to whose span the exemplar then leads.
func (tel *Telemetry) asked(ctx context.Context, e bucket.StoreEvent) {
	s := tel.buckets.Of(e.Limiter)
	if s == nil || tel.ended.Load() {
		return
	}
	tel.instruments.buckets.duration.Record(ctx, e.Duration.Seconds(), s.Data.recordOptions(throttle.FaultOf(e.Err))...)
}

// denied tells the caller's span, if it is recording, of a request that was denied. Keys are data of users: they are not told. Nor is when to
// come again if the store gave no answer, which nobody knows.
func (tel *Telemetry) denied(ctx context.Context, e bucket.DenialEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := append(errorAttributes(reasonOf(e.Err)), KeyBucketName.String(labelName(e.Limiter.Name())),
		KeyBucketTokens.Int64(e.Tokens), KeyBucketSource.String(e.Source.String()))
	if e.Err == nil {
		kv = append(kv, KeyBucketRetryAfter.Float64(e.RetryAfter.Seconds()))
	}
	addEvent(span, EventBucketDenied, kv...)
}

// waited tells the caller's span, if it is recording, of a request that stood in line.
func (tel *Telemetry) waited(ctx context.Context, e bucket.WaitEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := append(errorAttributes(reasonOf(e.Err)), KeyBucketName.String(labelName(e.Limiter.Name())),
		KeyBucketTokens.Int64(e.Tokens), KeyBucketDuration.Float64(e.Duration.Seconds()))
	addEvent(span, EventBucketWaited, kv...)
}

// reasonOf returns the kind of an error of a limiter. To whoever asked all of them are refusals; where the store gave no answer, the event tells why.
func reasonOf(err error) throttle.Fault {
	if why := errors.Unwrap(err); why != nil && errors.Is(err, bucket.ErrStore) {
		err = why
	}
	return throttle.FaultOf(err)
}

// bucketCollection is the report of one source of limiters.
type bucketCollection struct {
	to          metric.Observer
	instruments *bucketInstruments
	labels      *bucketLabels
}

// report reports everything, all results from 0, so that a rate has something to begin with.
func (c *bucketCollection) report(r *bucketReading) {
	i, l := c.instruments, c.labels
	c.count(i.requests, r.granted, l.granted)
	c.count(i.requests, r.denied, l.denied)
	c.count(i.requests, r.failedOpen, l.failedOpen)
	c.count(i.requests, r.failedClosed, l.failedClosed)
	c.count(i.tokens, r.tokens, l.source)
	c.to.ObserveInt64(i.waiting, int64(r.waiting), l.source...)
}

// count reports a total. Buckets may be as large as an int64, so that a sum of tokens may be larger.
func (c *bucketCollection) count(instrument metric.Int64Observable, n uint64, options []metric.ObserveOption) {
	c.to.ObserveInt64(instrument, int64(min(n, math.MaxInt64)), options...)
}
