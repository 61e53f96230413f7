package monitoring

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// The names of throttles, breakers, token buckets and backoffs that a careful author of dashboards does not think of. Users do.
const (
	hostileName = `my "best" shop's back\end (50%)`
	dottedName  = `eu-west.payments-v2`
	stuckName   = "stuck"
)

// An instance is a process of a service with throttles, as far as Prometheus can see. It lives in the test.
type instance struct {
	registry *prometheus.Registry
	server   *httptest.Server
	tracer   trace.Tracer
	hostile  *throttle.Throttle // does everything, at High
	dotted   *throttle.Throttle // serves, and is asked for priorities that it does not have
	fleet    *fleet
	limits   *limits
	backoffs *backoffs
	retrier  *retry.Retrier
}

func newInstance(t testing.TB, views ...sdkmetric.View) *instance {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter := throttle.Must(otelprometheus.New(otelprometheus.WithRegisterer(registry)))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithView(views...))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()))
	tel := throttle.Must(otelthrottle.New(otelthrottle.WithMeterProvider(meters), otelthrottle.WithTracerProvider(tracers), otelthrottle.WithBreakerDetail(4), otelthrottle.WithObjective(0.999, time.Second)))
	ctl := throttle.Must(control.New(control.Config{Hooks: tel.ControlHooks()}))
	t.Cleanup(func() { _ = ctl.Close() })
	named := func(name string, slow time.Duration) *throttle.Throttle {
		return throttle.Must(throttle.New(throttle.Config{Name: name, Slow: slow, Classify: classify, Hooks: throttle.JoinHooks(tel.Hooks(), ctl.ThrottleHooks())}))
	}
	i := &instance{registry: registry, tracer: tracers.Tracer("test"), hostile: named(hostileName, time.Minute), dotted: named(dottedName, 0)}
	if _, err := named(stuckName, 0).Admit(t.Context(), throttle.High); err != nil { // and never ends
		t.Fatal(err)
	}
	serve(t, i.hostile)
	listen(t, i.hostile, named(hostileName, 0))
	i.fleet = newFleet(t, breaker.JoinHooks(tel.BreakerHooks(), ctl.BreakerHooks()))
	i.limits = newLimits(t, bucket.JoinHooks(tel.BucketHooks(), ctl.BucketHooks()))
	i.backoffs = newBackoffs(t, backoff.JoinHooks(tel.BackoffHooks(), ctl.BackoffHooks()))
	i.retrier = throttle.Must(retry.New(retry.Config{Name: hostileName, Delay: retry.Delay{Initial: time.Microsecond}, Hooks: tel.RetryHooks()}))
	t.Cleanup(func() { _ = i.retrier.Close() })
	tel.RetryHooks().Arrived(t.Context(), retry.ArrivalEvent{Name: hostileName, Attempt: 2})
	tune(t, ctl)
	i.server = httptest.NewServer(exposed(registry))
	t.Cleanup(i.server.Close)
	return i
}

// listen lets a server send load reports, and a client receive one each second: a report counts for some seconds.
func listen(t testing.TB, server, client *throttle.Throttle) {
	t.Helper()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	go func() {
		for {
			report, _ := server.LoadReport()
			client.ReceiveLoad(throttle.LoadReport{Overloaded: true, Shed: report.Shed})
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
			}
		}
	}()
}

// serve lets a throttle serve a call, as that of a server does, and waits until the process has a wait for a processor.
func serve(t testing.TB, th *throttle.Throttle) {
	t.Helper()
	_ = th.DoLocal(t.Context(), throttle.High, ending{}.function()) // or it is shed, if this test keeps the processors busy
	program.Eventually(t, "the wait for a processor is known", func() string {
		if throttle.Processor().Processors == 0 {
			return "it is not"
		}
		return ""
	})
}

// tune refuses a file, and changes each kind of thing: a throttle to shadow, and others to what they were.
func tune(t testing.TB, ctl *control.Control) {
	t.Helper()
	if err := ctl.Watch(t.Context(), "testdata"); err != nil { // which is a folder
		t.Fatal(err)
	}
	_, err := ctl.Apply(t.Context(), control.Document{
		Throttles: map[string]*control.Throttle{dottedName: {Patch: throttle.Patch{Mode: new(throttle.ModeShadow)}}, hostileName: {Patch: throttle.Patch{Ratio: new(2.0)}}},
		Breakers:  map[string]*control.Breaker{hostileName: {Patch: breaker.Patch{Mode: new(throttle.ModeEnforce)}, Terms: control.Terms{For: throttle.Duration(time.Millisecond)}}}, // else no tenant is in shadow
		Buckets:   map[string]*control.Bucket{hostileName: {Patch: bucket.Patch{Capacity: new(int64(2))}}},
		Backoffs:  map[string]*control.Backoff{hostileName: {Patch: backoff.Patch{MaxInterval: new(throttle.Duration(time.Millisecond))}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// nativeHistograms is the view that makes every histogram of an instance a native one.
func nativeHistograms() sdkmetric.View {
	return sdkmetric.NewView(sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})
}

// exposed serves a registry with exemplars, without compression, which is slow under the race detector.
func exposed(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true})
}

func (i *instance) address() string { return i.server.Listener.Addr().String() }

// work lets the instance do everything again and again until the test ends.
func (i *instance) work(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	wg.Go(func() { _ = i.fleet.busy.Run(ctx) })
	wg.Go(func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				i.doEverything(t, ctx)
			}
		}
	})
}

// newBareInstance returns what answers scrapes, but has forgotten the hooks of its throttles.
func newBareInstance(t testing.TB) (address string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	server := httptest.NewServer(exposed(registry))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

var errStrange = errors.New("strange")

// An ending is a way for a call to end.
type ending struct {
	err      error
	rejected bool // whatever the error
	panics   bool
}

// endings are one of every kind of error, those that the default takes for the backend's fault as they are, and one of each of the others too.
func endings() []ending {
	var all []ending
	for _, err := range []error{
		nil, faults.Unavailable(0), faults.ResourceExhausted(), context.DeadlineExceeded, context.Canceled, faults.Unauthenticated,
		faults.PermissionDenied, faults.Bad(), faults.Aborted(), faults.NotFound, faults.FailedPrecondition(), faults.Unimplemented,
		throttle.ErrShed, errStrange,
	} {
		all = append(all, ending{err: err})
		if err != nil {
			all = append(all, ending{err: err, rejected: true})
		}
	}
	return append(all, ending{panics: true})
}

// classify knows no more than the default does; it is there because services have one.
func classify(context.Context, error) (throttle.Outcome, bool) { return throttle.Accepted, false }

func (e ending) function() func(context.Context) error {
	return func(context.Context) error {
		switch {
		case e.panics:
			panic("of the test")
		case e.rejected:
			return throttle.MarkRejected(fmt.Errorf("rejected: %w", e.err))
		}
		return e.err
	}
}

// doEverything makes calls that end in every way there is, most of them at High, first in earnest and then in Shadow. So many of them are
// rejected that the throttle sheds, or would. Then the breakers do, the token buckets and the backoffs.
func (i *instance) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	for _, mode := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow} {
		if err := i.hostile.Tune(throttle.Patch{Mode: &mode}); err != nil {
			t.Errorf("Tune: got error %v want none", err)
		}
		for n, e := range endings() {
			i.call(ctx, i.hostile, throttle.High, e, i.fallback(n))
			i.call(throttle.WithTenant(ctx, hostileName), i.hostile, throttle.Low, e, nil)
		}
	}
	for p := range throttle.Priority(throttle.StandardPriorities + 1) { // the last of which there is not
		i.call(ctx, i.dotted, p, ending{}, nil)
		i.call(ctx, i.dotted, p, ending{}, nil)
	}
	i.call(ctx, i.dotted, throttle.High, ending{err: faults.Unavailable(0)}, nil)
	i.fleet.doEverything(t, ctx)
	ctx, request := i.tracer.Start(ctx, "request")
	defer request.End()
	i.limits.doEverything(t, ctx)
	i.backoffs.doEverything(t, ctx)
	for n := range 20 { // one in twenty is rejected, and retried within the budget
		e := ending{rejected: n == 0, err: errStrange}
		_ = i.retrier.Do(ctx, throttle.High, e.function())
	}
}

// fallback returns one that serves, or fails with each of the kinds in turn.
func (i *instance) fallback(n int) throttle.Fallback {
	if n%2 == 0 {
		return func(context.Context, error, bool) error { return nil }
	}
	return func(context.Context, error, bool) error { return endings()[n].err }
}

// call makes a call within a request that is traced.
func (i *instance) call(ctx context.Context, th *throttle.Throttle, p throttle.Priority, e ending, fallback throttle.Fallback) {
	ctx, request := i.tracer.Start(ctx, "request")
	defer request.End()
	defer func() { _ = recover() }() // from the ending that panics
	var fallbacks []throttle.Fallback
	if fallback != nil {
		fallbacks = append(fallbacks, fallback)
	}
	_ = th.Do(ctx, p, e.function(), fallbacks...)
}
