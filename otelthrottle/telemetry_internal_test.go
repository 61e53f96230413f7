package otelthrottle

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/throttle"
)

// adapter returns a Telemetry and the reader that collects from it.
func adapter(t testing.TB) (*Telemetry, *sdkmetric.ManualReader) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	tel, err := New(WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))), WithoutDuration())
	if err != nil {
		t.Fatalf("New: got error %v want nil", err)
	}
	return tel, reader
}

// collected returns how many series the reader finds.
func collected(t testing.TB, reader *sdkmetric.ManualReader) int {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Fatalf("Collect: got error %v want nil", err)
	}
	n := 0
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				n += len(data.DataPoints)
			case metricdata.Gauge[int64]:
				n += len(data.DataPoints)
			case metricdata.Gauge[float64]:
				n += len(data.DataPoints)
			}
		}
	}
	return n
}

// wantMembers fails the test unless the adapter keeps so many throttles of the source called db.
func (tel *Telemetry) wantMembers(t testing.TB, open, draining, known int) {
	t.Helper()
	n := 0
	tel.throttles.members.Range(func(any, any) bool { n++; return true })
	s := tel.throttles.sources["db"]
	if len(s.open) != open || len(s.draining) != draining || n != known {
		t.Errorf("throttles open, draining and known: got %d, %d and %d want %d, %d and %d",
			len(s.open), len(s.draining), n, open, draining, known)
	}
}

// TestClosedThrottlesLeaveNothing makes and closes 10,000 throttles.
func TestClosedThrottlesLeaveNothing(t *testing.T) {
	tests := []struct {
		name  string
		hooks func(*Telemetry) func() throttle.Hooks
		open  int // of the source, while the others come and go
	}{
		{"hooks shared", func(tel *Telemetry) func() throttle.Hooks {
			h := tel.Hooks()
			return func() throttle.Hooks { return h }
		}, 0},
		{"hooks of their own", func(tel *Telemetry) func() throttle.Hooks { return tel.Hooks }, 0},
		{"beside an open one", func(tel *Telemetry) func() throttle.Hooks { return tel.Hooks }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tel, reader := adapter(t)
			hooks := tt.hooks(tel)
			for range tt.open {
				throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks()}))
			}
			for i := range 10_000 {
				th := throttle.Must(throttle.New(throttle.Config{Name: "db", Priorities: 1 + i%2, Hooks: hooks()}))
				_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return nil })
				_ = th.Close()
			}
			tel.wantMembers(t, tt.open, 0, tt.open)
			if got := tel.throttles.sources["db"].retired[throttle.High].admitted[throttle.Accepted][throttle.FaultNone]; got != 10_000 {
				t.Errorf("calls of the closed: got %d want 10000", got)
			}
			if got := collected(t, reader); (got > 0) != (tt.open > 0) {
				t.Errorf("series: got %d with %d throttles open", got, tt.open)
			}
			if got := len(tel.throttles.order); got != 1 {
				t.Errorf("sources: got %d want 1", got)
			}
		})
	}
}

// TestClosedThrottleIsCollected asks the garbage collector. The first throttle of shared hooks is kept as long as they are.
func TestClosedThrottleIsCollected(t *testing.T) {
	tel, _ := adapter(t)
	hooks := tel.Hooks()
	first := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
	closed := func() weak.Pointer[throttle.Throttle] {
		th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
		_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })
		_ = th.Close()
		return weak.Make(th)
	}()
	runtime.GC()
	runtime.GC()
	if closed.Value() != nil {
		t.Error("got a closed throttle still there, want it collected")
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(tel)
}

// TestCallThatNeverEndsIsGivenUp leaves a call in flight at the close of its throttle, which waits for it only so long.
func TestCallThatNeverEndsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, reader := adapter(t)
		hooks := tel.Hooks()
		keeper := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
		th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
		if _, err := th.Admit(t.Context(), throttle.High); err != nil {
			t.Fatalf("Admit: got error %v want nil", err)
		}
		_ = th.Close()
		for _, step := range []struct {
			wait     time.Duration
			draining int
		}{{0, 1}, {longestDrain - time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(step.wait)
			collected(t, reader)
			tel.wantMembers(t, 1, step.draining, 1)
		}
		_ = keeper.Close()
	})
}

// TestNamesAreKept has 1,000 names come and go: their totals are kept, for their return, and their series end.
func TestNamesAreKept(t *testing.T) {
	tel, reader := adapter(t)
	for i := range 1000 {
		th := throttle.Must(throttle.New(throttle.Config{Name: fmt.Sprint("db", i), Priorities: 1, Hooks: tel.Hooks()}))
		_ = th.Close()
	}
	if got := collected(t, reader); got != 0 {
		t.Errorf("series: got %d want 0", got)
	}
	if got := len(tel.throttles.sources); got != 1000 {
		t.Errorf("sources: got %d want 1000", got)
	}
}

// TestThrottlesComeAndGoAfterShutdown makes and closes throttles after Shutdown.
func TestThrottlesComeAndGoAfterShutdown(t *testing.T) {
	tel, reader := adapter(t)
	hooks := tel.Hooks()
	throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	for range 100 {
		_ = throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks})).Close()
	}
	tel.wantMembers(t, 1, 0, 1)
	if got := collected(t, reader); got != 0 {
		t.Errorf("series: got %d want 0", got)
	}
}
