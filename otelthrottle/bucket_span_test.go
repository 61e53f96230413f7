package otelthrottle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestEventsOfBuckets looks at what the span of a caller is told. Keys stay at home.
func TestEventsOfBuckets(t *testing.T) {
	const secret = "user 17"
	for _, tt := range []struct {
		name  string
		tell  func(context.Context, bucket.Hooks, *bucket.Limiter)
		event string
		want  []any
	}{
		{"denied", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Denied(ctx, bucket.DenialEvent{Limiter: l, Key: secret, Tokens: 3, RetryAfter: 1500 * time.Millisecond})
		}, "throttle.bucket.denied", []any{"throttle.bucket.tokens", 3, "throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.5}},
		{"denied by the policy", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Denied(ctx, bucket.DenialEvent{Limiter: l, Key: secret, Tokens: 1, RetryAfter: time.Second, Source: bucket.FromPolicy})
		}, "throttle.bucket.denied", []any{"throttle.bucket.tokens", 1, "throttle.bucket.source", "policy", "throttle.bucket.retry_after", 1.0}},
		{"denied for want of an answer", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Denied(ctx, bucket.DenialEvent{Limiter: l, Key: secret, Tokens: 1, Source: bucket.FromPolicy, Err: context.DeadlineExceeded})
		}, "throttle.bucket.denied", []any{"throttle.bucket.tokens", 1, "throttle.bucket.source", "policy", "error.type", "timeout"}},
		{"waited", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Waited(ctx, bucket.WaitEvent{Limiter: l, Key: secret, Tokens: 2, Duration: 250 * time.Millisecond})
		}, "throttle.bucket.waited", []any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 0.25}},
		{"waited in vain", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Waited(ctx, bucket.WaitEvent{Limiter: l, Key: secret, Tokens: 2, Duration: time.Second, Err: context.Canceled})
		}, "throttle.bucket.waited", []any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0, "error.type", "canceled"}},
		{"waited until it was closed", func(ctx context.Context, h bucket.Hooks, l *bucket.Limiter) {
			h.Waited(ctx, bucket.WaitEvent{Limiter: l, Key: secret, Tokens: 2, Duration: time.Second, Err: bucket.ErrClosed})
		}, "throttle.bucket.waited", []any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0, "error.type", "shed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithRootSpans(), keepOnly("none")}})
			limiter := l.limiter(t, bucket.Config{})
			ctx, request := l.request(t.Context())
			tt.tell(ctx, l.tel.BucketHooks(), limiter)
			equal(t, "caller's span records", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, "request")
			events := l.spanNamed(t, "request").Events()
			equal(t, "events", len(events), 1)
			equal(t, "event", events[0].Name, tt.event)
			wantAttributes(t, "event", events[0].Attributes, append(tt.want, "throttle.bucket.name", "geocoder")...)
		})
	}
}

// TestLimitersTellTheirCallers makes the requests of which a span is told, with the limiter's own hooks.
func TestLimitersTellTheirCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		limiter := l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
		lost := l.limiter(t, bucket.Config{Store: newDoubtfulStore(errPlain), OnFailure: bucket.FailClosed})
		ctx, request := l.request(t.Context())
		equal(t, "granted", take(ctx, t, limiter, 2), 1)
		equal(t, "granted without a store", take(ctx, t, lost, 1), 0)
		if err := limiter.Wait(ctx, "", 1); err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := limiter.Wait(hurried, "", 1); !errors.Is(err, bucket.ErrDenied) {
			t.Errorf("Wait until too early: got error %v want %v", err, bucket.ErrDenied)
		}
		request.End()
		own := func(pairs ...any) []any {
			return append(pairs, "throttle.bucket.name", "geocoder", "throttle.bucket.tokens", 1)
		}
		want := []struct {
			event      string
			attributes []any
		}{
			{"throttle.bucket.denied", own("throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.0)},
			{"throttle.bucket.denied", own("throttle.bucket.source", "policy", "error.type", "_OTHER")},
			{"throttle.bucket.waited", own("throttle.bucket.duration", 1.0)},
			{"throttle.bucket.denied", own("throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.0)},
			{"throttle.bucket.waited", own("throttle.bucket.duration", 0.0, "error.type", "shed")},
		}
		events := l.spanNamed(t, "request").Events()
		equal(t, "events", len(events), len(want))
		for i, e := range events[:min(len(events), len(want))] {
			equal(t, "event", e.Name, want[i].event)
			wantAttributes(t, e.Name, e.Attributes, want[i].attributes...)
		}
	})
}

// TestBucketHooksAreOnlyThoseNeeded: nobody is told what nobody asked for.
func TestBucketHooksAreOnlyThoseNeeded(t *testing.T) {
	for _, tt := range []struct {
		name            string
		options         []otelthrottle.Option
		spans, duration bool
	}{
		{"default", nil, true, true},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, false, true},
		{"without durations", []otelthrottle.Option{otelthrottle.WithoutDuration()}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newLab(t, setup{options: tt.options}).tel.BucketHooks()
			equal(t, "tells of denials", h.Denied != nil, tt.spans)
			equal(t, "tells of waits", h.Waited != nil, tt.spans)
			equal(t, "tells of stores", h.Asked != nil, tt.duration)
		})
	}
}

// TestExemplarsOfStoresLeadToTheCallersSpans asks one by one: for those who are asked for together there is no span to lead to.
func TestExemplarsOfStoresLeadToTheCallersSpans(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sampler sdktrace.Sampler
		want    int
	}{
		{"sampled", sdktrace.AlwaysSample(), 1},
		{"unsampled", sdktrace.NeverSample(), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, e := newScrapedLab(t, setup{sampler: tt.sampler})
			limiter := l.limiter(t, bucket.Config{Store: newDoubtfulStore(nil), OneByOne: true})
			ctx, request := l.request(t.Context())
			take(ctx, t, limiter, 1)
			request.End()
			wantExemplars(t, exemplarsOf("throttle_bucket_store_duration_seconds", e.scrape(t, openMetrics)), tt.want, request)
		})
	}
}

// TestFilterIsNotAskedAboutBuckets which know no priority.
func TestFilterIsNotAskedAboutBuckets(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{neverAsked(t)}})
	ctx, request := l.request(t.Context())
	l.tel.BucketHooks().Denied(ctx, bucket.DenialEvent{Limiter: l.limiter(t, bucket.Config{})})
	request.End()
	equal(t, "events", len(l.spanNamed(t, "request").Events()), 1)
}
