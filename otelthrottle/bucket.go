package otelthrottle

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
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
	h := bucket.Hooks{Created: tel.buckets.created(tel), Closed: tel.buckets.Leave}
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
	tel.pushed.store.Record(ctx, e.Duration.Seconds(), s.Data.ofFault(throttle.FaultOf(e.Err))...)
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

// newBuckets returns the limiters, with their metrics. The series start at 0, so that rates include the first event. Each name has
// the series of its own policies only.
func newBuckets(common []attribute.KeyValue) *named[*bucket.Limiter, bucket.Stats, bucketSum] {
	return newNamed("bucket", semconv.KeyBucketName, common, byname.Kind[*bucket.Limiter, bucket.Stats, bucketSum, *attributes]{
		Read: (*bucket.Limiter).Stats,
		Busy: func(s *bucket.Stats) bool { return s.Waiting+s.AwaitingStore > 0 },
		Add:  bucketSum.add,
	}, []row[bucketSum]{
		{
			kind: counter, name: semconv.MetricBucketRequests, unit: "{request}", help: "Requests for tokens, by result.",
			keys: []attribute.Key{semconv.KeyBucketResult},
			read: func(s *bucketSum, to *output) {
				to.count(s.granted, semconv.ResultGranted)
				to.count(s.denied, semconv.ResultDenied)
				if s.failed.used {
					to.count(s.failed.granted, semconv.ResultFailedOpen)
					to.count(s.failed.denied, semconv.ResultFailedClosed)
				}
				if s.shared.used {
					to.count(s.shared.granted, semconv.ResultShareGranted)
					to.count(s.shared.denied, semconv.ResultShareDenied)
				}
			},
		},
		one(counter, semconv.MetricBucketTokens, "{token}", "Tokens granted.",
			func(s *bucketSum, to *output) { to.count(s.tokens) }),
		one(upDown, semconv.MetricBucketWaiting, "{request}", "Requests that wait for tokens.",
			func(s *bucketSum, to *output) { to.number(int64(s.waiting)) }),
		one(floatGauge, semconv.MetricBucketLimit, "{token}/s", "Tokens that each key gets per second.",
			func(s *bucketSum, to *output) { to.float(s.limit) }),
		one(gauge, semconv.MetricBucketCapacity, "{token}", "Tokens that a full bucket holds: the burst of each key.",
			func(s *bucketSum, to *output) { to.number(s.capacity) }),
	})
}

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

func perSecond(l bucket.Limit) float64 {
	l = l.WithDefaults()
	return float64(l.Refill) / l.Period.Seconds()
}
