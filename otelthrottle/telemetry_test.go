package otelthrottle_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// asNewProcess is set for a test that is run once more, by itself: only a process' first global provider takes over what was made before it.
const asNewProcess = "SPILLWAY_TEST_AS_NEW_PROCESS"

// TestGlobalProvidersAreTheDefault gives no provider, and sets the global one when there have been calls already. Shutdown flushes that one.
func TestGlobalProvidersAreTheDefault(t *testing.T) {
	if os.Getenv(asNewProcess) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		again.Env = append(os.Environ(), asNewProcess+"=1")
		if said, err := again.CombinedOutput(); err != nil {
			t.Errorf("in a process of its own: %v\n%s", err, said)
		}
		return
	}
	var adapters []*otelthrottle.Telemetry
	for _, options := range [][]otelthrottle.Option{nil, {otelthrottle.WithMeterProvider(nil), otelthrottle.WithTracerProvider(nil)}} {
		tel := newTelemetry(t, options...)
		th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
		times(5, th, throttle.High, nil)
		adapters = append(adapters, tel)
	}
	provider := newFlushedProvider(t)
	otel.SetMeterProvider(provider)
	for i, tel := range adapters {
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: got error %v want nil", err)
		}
		equal(t, "calls before there was a provider, flushed by Shutdown", provider.sent[accepted(throttle.High)], float64(10-5*i))
	}
}

// failingProvider is a MeterProvider that refuses one instrument, or the callback.
type failingProvider struct {
	metric.MeterProvider
	refused string
	err     error
}

type failingMeter struct {
	metric.Meter
	p failingProvider
}

func (p failingProvider) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return failingMeter{p.MeterProvider.Meter(name, o...), p}
}

func (m failingMeter) refuse(name string) error {
	if name == m.p.refused {
		return m.p.err
	}
	return nil
}

func (m failingMeter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	i, _ := m.Meter.Int64Counter(name, o...)
	return i, m.refuse(name)
}

func (m failingMeter) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	i, _ := m.Meter.Float64ObservableGauge(name, o...)
	return i, m.refuse(name)
}

func (m failingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	i, _ := m.Meter.Float64Histogram(name, o...)
	return i, m.refuse(name)
}

func (m failingMeter) RegisterCallback(f metric.Callback, o ...metric.Observable) (metric.Registration, error) {
	r, _ := m.Meter.RegisterCallback(f, o...)
	if err := m.refuse("callback"); err != nil {
		return nil, errors.Join(err, r.Unregister())
	}
	return failingRegistration{r, m.p}, nil
}

type failingRegistration struct {
	metric.Registration
	p failingProvider
}

func (r failingRegistration) Unregister() error {
	return errors.Join(r.Registration.Unregister(), failingMeter{p: r.p}.refuse("unregister"))
}

// TestNewReturnsTheMetersError has a provider that refuses.
func TestNewReturnsTheMetersError(t *testing.T) {
	refusal := errors.New("too many instruments")
	for _, name := range []string{
		semconv.MetricRetryArrivals, semconv.MetricCallDuration, semconv.MetricBucketStoreDuration, semconv.MetricBackoffSleepDuration,
		semconv.MetricBackoffDelay, semconv.MetricObjective, "callback",
	} {
		t.Run(name, func(t *testing.T) {
			reader := sdkmetric.NewManualReader()
			provider := failingProvider{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), name, refusal}
			tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(provider))
			if tel != nil || !errors.Is(err, refusal) || !strings.HasPrefix(err.Error(), "otelthrottle: ") {
				t.Errorf("New: got %v and error %v want nil and otelthrottle: %v", tel, err, refusal)
			}
			read(t, reader).want(t, snapshot{})
		})
	}
	provider := failingProvider{metricnoop.NewMeterProvider(), semconv.MetricCallDuration, refusal}
	newTelemetry(t, otelthrottle.WithMeterProvider(provider), otelthrottle.WithoutDuration())
}

// TestNilAndZeroTelemetry checks that their hooks leave members alone.
func TestNilAndZeroTelemetry(t *testing.T) {
	for name, tel := range map[string]*otelthrottle.Telemetry{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			for _, s := range systems() {
				m := s.start(&lab{tel: tel}, manner{name: "a"})
				m.use(t.Context())
				if err := m.Close(); err != nil {
					t.Errorf("Close of a %s: got error %v want nil", s.noun, err)
				}
			}
			for range 2 {
				if err := tel.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: got error %v want nil", err)
				}
			}
		})
	}
}
