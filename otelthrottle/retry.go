package otelthrottle

import (
	"context"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/retry"
)

// RetryHooks returns the hooks for a Retrier's Config, and for the RetryHooks of servers. Several may
// share them. They cost a call that is not retried nothing.
func (tel *Telemetry) RetryHooks() retry.Hooks {
	if !tel.valid() {
		return retry.Hooks{}
	}
	h := retry.Hooks{Created: tel.retries.created(tel), Closed: tel.retries.Leave, Arrived: tel.retryArrived}
	if !tel.withoutSpans {
		h.Denied = tel.retryDenied
	}
	return h
}

// retryArrived counts a retry that a server received.
func (tel *Telemetry) retryArrived(ctx context.Context, e retry.ArrivalEvent) {
	if tel.ended.Load() {
		return
	}
	kv := append(slices.Clone(tel.commonAttributes()), semconv.KeyName.String(validName(e.Name)))
	tel.pushed.arrivals.Add(ctx, 1, metric.WithAttributes(kv...))
}

func (tel *Telemetry) retryDenied(ctx context.Context, e retry.DenyEvent) {
	span := trace.SpanFromContext(ctx)
	if tel.ended.Load() || !span.IsRecording() {
		return
	}
	addEvent(span, eventRetryDenied, semconv.KeyRetryName.String(validName(e.Retrier.Name())),
		semconv.KeyRetryReason.String(e.Reason.String()), semconv.KeyRetryAttempt.Int(e.Attempt))
}

// newRetries returns the retriers, with their metrics. The series start at 0, so that rates include the first event.
func newRetries(common []attribute.KeyValue) *named[*retry.Retrier, retry.Stats, retry.Stats] {
	return newNamed("retry", semconv.KeyRetryName, common, byname.Kind[*retry.Retrier, retry.Stats, retry.Stats, *attributes]{
		Read: (*retry.Retrier).Stats,
		Add:  addRetrier,
		Clone: func(sum retry.Stats) retry.Stats {
			sum.Calls = slices.Clone(sum.Calls)
			return sum
		},
	}, []row[retry.Stats]{
		{
			kind: counter, name: semconv.MetricRetries, unit: "{retry}",
			help: "Retries that were sent, and failed calls that were not retried, by reason.",
			keys: []attribute.Key{semconv.KeyRetryResult, semconv.KeyRetryKind, semconv.KeyRetryReason},
			read: func(s *retry.Stats, to *output) {
				to.count(s.Sent-s.Hedged, semconv.RetrySent, semconv.RetryAgain)
				to.count(s.Hedged, semconv.RetrySent, semconv.RetryHedge)
				for reason, n := range s.Denied.All() {
					to.count(n, semconv.RetryDenied, "", reason.String())
				}
			},
		},
		{
			kind: counter, name: semconv.MetricRetryCalls, unit: "{call}",
			help: "Calls that ended, by the number of attempts that were sent.",
			keys: []attribute.Key{semconv.KeyRetryAttempts},
			read: func(s *retry.Stats, to *output) {
				for attempts, n := range s.Calls {
					to.count(n, strconv.Itoa(attempts))
				}
			},
		},
		one(floatGauge, semconv.MetricRetryBudget, "{retry}", "Retries left in the budget.",
			func(s *retry.Stats, to *output) { to.float(s.Left) }),
	})
}

// addRetrier adds one retrier to the sum of its name. A closed one adds its counters only.
func addRetrier(sum retry.Stats, r *retry.Stats, open bool) retry.Stats {
	for len(sum.Calls) < len(r.Calls) {
		sum.Calls = append(sum.Calls, 0)
	}
	for n, calls := range r.Calls {
		sum.Calls[n] += calls
	}
	sum.Sent += r.Sent
	sum.Hedged += r.Hedged
	sum.Denied.Merge(r.Denied)
	if open {
		sum.Left += r.Left
	}
	return sum
}
