package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// flushedProvider is a MeterProvider that keeps what it has when it is flushed, and in which context that is.
type flushedProvider struct {
	metric.MeterProvider
	t       *testing.T
	reader  *sdkmetric.ManualReader
	flushed []context.Context
	sent    snapshot
	during  func() // runs in a flush
	err     error
}

func newFlushedProvider(t *testing.T) *flushedProvider {
	reader := sdkmetric.NewManualReader()
	return &flushedProvider{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), t: t, reader: reader}
}

func (p *flushedProvider) ForceFlush(ctx context.Context) error {
	p.flushed, p.sent = append(p.flushed, ctx), read(p.t, p.reader)
	if p.during != nil {
		p.during()
	}
	return p.err
}

// TestShutdownFlushesOnceAndEndsWhateverComesOfIt has flushes that work and that fail, also beside a registration that is not given back.
func TestShutdownFlushesOnceAndEndsWhateverComesOfIt(t *testing.T) {
	noAnswer, refusal := errors.New("no answer"), errors.New("it is not yours")
	for _, want := range [][]error{nil, {noAnswer}, {refusal}, {noAnswer, refusal}} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			provider := newFlushedProvider(t)
			for _, err := range want {
				if errors.Is(err, noAnswer) {
					provider.err = err
				} else {
					provider.MeterProvider = failingProvider{provider.MeterProvider, "unregister", err}
				}
			}
			tel := newTelemetry(t, otelthrottle.WithMeterProvider(provider))
			throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
			provider.during = func() {
				equal(t, "a throttle's series during the flush", len(provider.sent) > 0, true)
				provider.during = nil
				equal(t, "error of a Shutdown during the flush", tel.Shutdown(t.Context()), nil)
			}
			type key struct{}
			err := tel.Shutdown(context.WithValue(t.Context(), key{}, "caller's"))
			for _, wanted := range want {
				if !errors.Is(err, wanted) || !strings.HasPrefix(err.Error(), "otelthrottle: ") {
					t.Errorf("Shutdown: got error %v want otelthrottle: %v", err, wanted)
				}
			}
			if err != nil && want == nil {
				t.Errorf("Shutdown: got error %v want nil", err)
			}
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Errorf("second Shutdown: got error %v want nil", err)
			}
			read(t, provider.reader).want(t, snapshot{})
			if equal(t, "flushes", len(provider.flushed), 1); len(provider.flushed) > 0 {
				equal(t, "context of the flush", provider.flushed[0].Value(key{}), any("caller's"))
			}
		})
	}
}

// TestShutdownFlushesNoProviderButItsOwn leaves the global one alone if it was given another.
func TestShutdownFlushesNoProviderButItsOwn(t *testing.T) {
	defer otel.SetMeterProvider(metricnoop.NewMeterProvider())
	global := newFlushedProvider(t)
	otel.SetMeterProvider(global)
	tel := newTelemetry(t, otelthrottle.WithMeterProvider(metricnoop.NewMeterProvider()))
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: got error %v want nil", err)
	}
	equal(t, "flushes of the global provider", len(global.flushed), 0)
}

// TestShutdownEndsTheTelemetry checks that later calls work, and appear in no span and no series.
func TestShutdownEndsTheTelemetry(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		m := s.start(l, manner{name: "a"})
		m.use(t.Context())
		before := l.read(t).pushed()
		for range 2 {
			if err := l.tel.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown: got error %v want nil", err)
			}
		}
		ctx, request := l.request(t.Context())
		late := s.start(l, manner{name: "a"})
		m.use(ctx)
		late.use(ctx)
		_, _ = late.Close(), m.Close()
		request.End()
		l.wantSpans(t, "request")
		equal(t, "events on the caller's span", len(l.spanNamed(t, "request").Events()), 0)
		l.read(t).want(t, before)
	})
}

// TestShutdownFromEverywhere flushes once, also if it is called many times at once. A nil context is the background.
func TestShutdownFromEverywhere(t *testing.T) {
	var none context.Context
	provider := newFlushedProvider(t)
	tel := newTelemetry(t, otelthrottle.WithMeterProvider(provider))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if err := tel.Shutdown(none); err != nil {
				t.Errorf("Shutdown: got error %v want nil", err)
			}
		})
	}
	wg.Wait()
	equal(t, "flushes in a context", len(provider.flushed) == 1 && provider.flushed[0] != nil, true)
}
