package otelthrottle

import (
	"context"
	"errors"
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
	h := retry.Hooks{Created: join(tel, tel.retries), Closed: tel.retries.Leave, Arrived: tel.retryArrived}
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
	tel.instruments.retries.arrivals.Add(ctx, 1, metric.WithAttributes(kv...))
}

// retryDenied adds an event to the caller's span, if it is recording.
func (tel *Telemetry) retryDenied(ctx context.Context, e retry.DenyEvent) {
	span := trace.SpanFromContext(ctx)
	if tel.ended.Load() || !span.IsRecording() {
		return
	}
	addEvent(span, eventRetryDenied, semconv.KeyRetryName.String(validName(e.Retrier.Name())),
		semconv.KeyRetryReason.String(e.Reason.String()), semconv.KeyRetryAttempt.Int(e.Attempt))
}

// retryRegistry holds the retriers by name.
type retryRegistry = byname.Registry[*retry.Retrier, retry.Stats, retrySum, *retryAttributes]

// newRetryRegistry returns a registry whose series have the common attributes too.
func newRetryRegistry(common []attribute.KeyValue) *retryRegistry {
	return byname.New(byname.Kind[*retry.Retrier, retry.Stats, retrySum, *retryAttributes]{
		Name: func(r *retry.Retrier) string { return validName(r.Name()) },
		Data: func(r *retry.Retrier) *retryAttributes { return newRetryAttributes(validName(r.Name()), common) },
		Read: (*retry.Retrier).Stats,
		Busy: func(*retry.Stats) bool { return false },
		Add:  retrySum.add,
		Clone: func(s retrySum) retrySum {
			s.calls = slices.Clone(s.calls)
			return s
		},
	})
}

// retrySum is the sum of all retriers of one name.
type retrySum struct {
	calls  []uint64 // by number of attempts
	sent   uint64
	hedged uint64 // of sent
	denied retry.Denials
	left   float64 // of open ones
}

// add adds one retrier to the sum. A closed one adds its counters only.
func (s retrySum) add(r *retry.Stats, open bool) retrySum {
	for len(s.calls) < len(r.Calls) {
		s.calls = append(s.calls, 0)
	}
	for n, calls := range r.Calls {
		s.calls[n] += calls
	}
	s.sent += r.Sent
	s.hedged += r.Hedged
	s.denied.Merge(r.Denied)
	if open {
		s.left += r.Left
	}
	return s
}

// retryInstruments are the metrics of retriers.
type retryInstruments struct {
	retries metric.Int64ObservableCounter
	calls   metric.Int64ObservableCounter
	budget  metric.Float64ObservableGauge

	arrivals metric.Int64Counter
}

func newRetryInstruments(meter metric.Meter) (retryInstruments, error) {
	var i retryInstruments
	errs := make([]error, 4)
	i.retries, errs[0] = meter.Int64ObservableCounter(semconv.MetricRetries, metric.WithUnit(unitRetry),
		metric.WithDescription("Retries that were sent, and failed calls that were not retried, by reason."))
	i.calls, errs[1] = meter.Int64ObservableCounter(semconv.MetricRetryCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that ended, by the number of attempts that were sent."))
	i.budget, errs[2] = meter.Float64ObservableGauge(semconv.MetricRetryBudget, metric.WithUnit(unitRetry),
		metric.WithDescription("Retries left in the budget."))
	i.arrivals, errs[3] = meter.Int64Counter(semconv.MetricRetryArrivals, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that their sender marked as retries, at a server."))
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *retryInstruments) observed() []metric.Observable {
	return []metric.Observable{i.retries, i.calls, i.budget}
}

// mostAttempts is the highest Attempts of a retry.Config.
const mostAttempts = 10

// retryAttributes caches the attributes of the series of one source of retriers.
type retryAttributes struct {
	source []metric.ObserveOption
	again  []metric.ObserveOption
	hedges []metric.ObserveOption
	denied [][]metric.ObserveOption // by retry.Reason
	calls  [mostAttempts + 1][]metric.ObserveOption
}

func newRetryAttributes(name string, common []attribute.KeyValue) *retryAttributes {
	set := func(own ...attribute.KeyValue) metric.ObserveOption {
		kv := append(slices.Clone(common), semconv.KeyRetryName.String(name))
		return metric.WithAttributeSet(attribute.NewSet(append(kv, own...)...))
	}
	a := &retryAttributes{
		source: []metric.ObserveOption{set()},
		again:  []metric.ObserveOption{set(semconv.KeyRetryResult.String(semconv.RetrySent), semconv.KeyRetryKind.String(semconv.RetryAgain))},
		hedges: []metric.ObserveOption{set(semconv.KeyRetryResult.String(semconv.RetrySent), semconv.KeyRetryKind.String(semconv.RetryHedge))},
	}
	for n := range a.calls {
		a.calls[n] = []metric.ObserveOption{set(semconv.KeyRetryAttempts.String(strconv.Itoa(n)))}
	}
	for r := range (retry.Denials{}).All() {
		options := set(semconv.KeyRetryResult.String(semconv.RetryDenied), semconv.KeyRetryReason.String(r.String()))
		a.denied = append(a.denied, []metric.ObserveOption{options})
	}
	return a
}

// retryReport reports one source of retriers.
type retryReport struct {
	to          metric.Observer
	instruments *retryInstruments
	attributes  *retryAttributes
}

// report reports everything. The series start at 0, so that rates include the first event.
func (r *retryReport) report(sum *retrySum) {
	i, a := r.instruments, r.attributes
	r.to.ObserveFloat64(i.budget, sum.left, a.source...)
	r.to.ObserveInt64(i.retries, int64(sum.sent-sum.hedged), a.again...)
	r.to.ObserveInt64(i.retries, int64(sum.hedged), a.hedges...)
	for reason, n := range sum.denied.All() {
		r.to.ObserveInt64(i.retries, int64(n), a.denied[reason]...)
	}
	for attempts, n := range sum.calls {
		r.to.ObserveInt64(i.calls, int64(n), a.calls[attempts]...)
	}
}
