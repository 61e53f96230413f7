package otelthrottle

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// BucketHooks returns the hooks for a limiter's Config. Several limiters may share them. With a
// store in memory, they cost a request nothing, unless it is denied or waits under a recording
// span.
func (tel *Telemetry) BucketHooks() bucket.Hooks {
	if !tel.valid() {
		return bucket.Hooks{}
	}
	h := bucket.Hooks{Created: join(tel, tel.buckets), Closed: tel.buckets.Leave}
	if !tel.withoutDuration {
		h.StoreCalled = tel.asked
	}
	if !tel.withoutSpans {
		h.Denied = tel.denied
		h.Waited = tel.waited
	}
	return h
}

// asked records the duration of a store call in the context of the request, so that the exemplar
// leads to its span.
func (tel *Telemetry) asked(ctx context.Context, e bucket.StoreEvent) {
	s := tel.buckets.Of(e.Limiter)
	if s == nil || tel.ended.Load() {
		return
	}
	tel.pushed.store.Record(ctx, e.Duration.Seconds(), s.Data.recordOptions(throttle.FaultOf(e.Err))...)
}

// denied adds an event to the caller's span, if it is recording. The event has no key, because keys
// may be data of users. It has no RetryAfter if the store failed, because the time is unknown then.
func (tel *Telemetry) denied(ctx context.Context, e bucket.DenialEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := append(errorAttributes(bucketFault(e.Err)), semconv.KeyBucketName.String(validName(e.Limiter.Name())),
		semconv.KeyBucketTokens.Int64(e.Tokens), keyBucketSource.String(e.Source.String()))
	if e.Err == nil {
		kv = append(kv, keyBucketRetryAfter.Float64(e.RetryAfter.Seconds()))
	}
	addEvent(span, eventBucketDenied, kv...)
}

// waited adds an event to the caller's span, if it is recording.
func (tel *Telemetry) waited(ctx context.Context, e bucket.WaitEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := append(errorAttributes(bucketFault(e.Err)), semconv.KeyBucketName.String(validName(e.Limiter.Name())),
		semconv.KeyBucketTokens.Int64(e.Tokens), keyBucketDuration.Float64(e.Duration.Seconds()))
	addEvent(span, eventBucketWaited, kv...)
}

// bucketFault returns the fault of a limiter's error. If the store failed, it is that of the
// store's error.
func bucketFault(err error) throttle.Fault {
	if cause := errors.Unwrap(err); cause != nil && errors.Is(err, bucket.ErrStore) {
		err = cause
	}
	return throttle.FaultOf(err)
}

// bucketRegistry holds the limiters by name.
type bucketRegistry = byname.Registry[*bucket.Limiter, bucket.Stats, bucketSum, *bucketAttributes]

// newBucketRegistry returns a registry whose series have the common attributes too.
func newBucketRegistry(common []attribute.KeyValue) *bucketRegistry {
	return byname.New(byname.Kind[*bucket.Limiter, bucket.Stats, bucketSum, *bucketAttributes]{
		Name:  func(l *bucket.Limiter) string { return validName(l.Name()) },
		Data:  func(l *bucket.Limiter) *bucketAttributes { return newBucketAttributes(validName(l.Name()), common) },
		Read:  (*bucket.Limiter).Stats,
		Busy:  func(s *bucket.Stats) bool { return s.Waiting+s.AwaitingStore > 0 },
		Add:   bucketSum.add,
		Clone: func(s bucketSum) bucketSum { return s },
	})
}

// bucketSum is the sum of all limiters of one name.
type bucketSum struct {
	granted, denied uint64    // requests
	failed, shared  undecided // requests that FailOpen or FailClosed decided, and LocalShare
	tokens          uint64    // granted

	// Of open limiters.
	waiting  int     // requests
	limit    float64 // the highest: tokens per second
	capacity int64   // the highest
}

// undecided are the requests that a store did not decide, with one kind of policy.
type undecided struct {
	used            bool // a limiter has this kind of policy
	granted, denied uint64
}

// add adds one limiter to the sum. A closed one adds its counters only.
func (s bucketSum) add(l *bucket.Stats, open bool) bucketSum {
	s.granted += l.Granted
	s.denied += l.Denied
	u := &s.failed
	if l.OnFailure == bucket.LocalShare {
		u = &s.shared
	}
	u.used = true
	u.granted += l.FailedOpen
	u.denied += l.FailedClosed
	s.tokens += l.Tokens
	if open {
		s.waiting += l.Waiting
		s.limit = max(s.limit, perSecond(l.Limit))
		s.capacity = max(s.capacity, l.Limit.Capacity)
	}
	return s
}

// perSecond returns the tokens per second that a bucket gets.
func perSecond(l bucket.Limit) float64 {
	l = l.WithDefaults()
	return float64(l.Refill) / l.Period.Seconds()
}

// bucketInstruments are the metrics of buckets.
type bucketInstruments struct {
	requests metric.Int64ObservableCounter
	tokens   metric.Int64ObservableCounter
	waiting  metric.Int64ObservableUpDownCounter
	limit    metric.Float64ObservableGauge
	capacity metric.Int64ObservableGauge
}

func newBucketInstruments(meter metric.Meter) (bucketInstruments, error) {
	var i bucketInstruments
	errs := make([]error, 5)
	i.requests, errs[0] = meter.Int64ObservableCounter(semconv.MetricBucketRequests, metric.WithUnit(unitRequest),
		metric.WithDescription("Requests for tokens, by result."))
	i.tokens, errs[1] = meter.Int64ObservableCounter(semconv.MetricBucketTokens, metric.WithUnit(unitToken),
		metric.WithDescription("Tokens granted."))
	i.waiting, errs[2] = meter.Int64ObservableUpDownCounter(semconv.MetricBucketWaiting, metric.WithUnit(unitRequest),
		metric.WithDescription("Requests that wait for tokens."))
	i.limit, errs[3] = meter.Float64ObservableGauge(semconv.MetricBucketLimit, metric.WithUnit(unitTokenRate),
		metric.WithDescription("Tokens that each key gets per second."))
	i.capacity, errs[4] = meter.Int64ObservableGauge(semconv.MetricBucketCapacity, metric.WithUnit(unitToken),
		metric.WithDescription("Tokens that a full bucket holds: the burst of each key."))
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *bucketInstruments) observed() []metric.Observable {
	return []metric.Observable{i.requests, i.tokens, i.waiting, i.limit, i.capacity}
}

// bucketAttributes caches the attributes of the series of one source of limiters.
type bucketAttributes struct {
	name   string
	common []attribute.KeyValue

	source                    []metric.ObserveOption
	granted, denied           []metric.ObserveOption
	failedOpen, failedClosed  []metric.ObserveOption
	shareGranted, shareDenied []metric.ObserveOption

	record [numFaults]atomic.Pointer[[]metric.RecordOption]
}

func newBucketAttributes(name string, common []attribute.KeyValue) *bucketAttributes {
	a := &bucketAttributes{name: name, common: common}
	observe := func(own ...attribute.KeyValue) []metric.ObserveOption {
		return []metric.ObserveOption{metric.WithAttributeSet(a.set(own...))}
	}
	a.source = observe()
	a.granted = observe(semconv.KeyBucketResult.String(semconv.ResultGranted))
	a.denied = observe(semconv.KeyBucketResult.String(semconv.ResultDenied))
	a.failedOpen = observe(semconv.KeyBucketResult.String(semconv.ResultFailedOpen))
	a.failedClosed = observe(semconv.KeyBucketResult.String(semconv.ResultFailedClosed))
	a.shareGranted = observe(semconv.KeyBucketResult.String(semconv.ResultShareGranted))
	a.shareDenied = observe(semconv.KeyBucketResult.String(semconv.ResultShareDenied))
	return a
}

// set returns the common attributes and these.
func (a *bucketAttributes) set(own ...attribute.KeyValue) attribute.Set {
	kv := append(slices.Clone(a.common), semconv.KeyBucketName.String(a.name))
	return attribute.NewSet(append(kv, own...)...)
}

// recordOptions returns the options to record the duration of a store call with a fault.
func (a *bucketAttributes) recordOptions(f throttle.Fault) []metric.RecordOption {
	cell := &a.record[f]
	if options := cell.Load(); options != nil {
		return *options
	}
	options := []metric.RecordOption{metric.WithAttributeSet(a.set(errorAttributes(f)...))}
	cell.Store(&options)
	return options
}

// bucketReport reports one source of limiters.
type bucketReport struct {
	to          metric.Observer
	instruments *bucketInstruments
	attributes  *bucketAttributes
}

// report reports everything. The series start at 0, so that rates include the first event. Each
// limiter has the series of its own policy only.
func (r *bucketReport) report(sum *bucketSum) {
	i, a := r.instruments, r.attributes
	r.observe(i.requests, sum.granted, a.granted)
	r.observe(i.requests, sum.denied, a.denied)
	if sum.failed.used {
		r.observe(i.requests, sum.failed.granted, a.failedOpen)
		r.observe(i.requests, sum.failed.denied, a.failedClosed)
	}
	if sum.shared.used {
		r.observe(i.requests, sum.shared.granted, a.shareGranted)
		r.observe(i.requests, sum.shared.denied, a.shareDenied)
	}
	r.observe(i.tokens, sum.tokens, a.source)
	r.to.ObserveInt64(i.waiting, int64(sum.waiting), a.source...)
	r.to.ObserveFloat64(i.limit, sum.limit, a.source...)
	r.to.ObserveInt64(i.capacity, sum.capacity, a.source...)
}

// observe reports a counter. A bucket may hold as many tokens as an int64 can count, so that a sum
// may exceed it.
func (r *bucketReport) observe(instrument metric.Int64Observable, n uint64, options []metric.ObserveOption) {
	r.to.ObserveInt64(instrument, int64(min(n, math.MaxInt64)), options...)
}
