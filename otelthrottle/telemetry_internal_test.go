package otelthrottle

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

func adapter(t testing.TB, options ...Option) (*Telemetry, *sdkmetric.ManualReader) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	tel, err := New(append(options, WithMeterProvider(provider), WithoutDuration())...)
	if err != nil {
		t.Fatalf("New: got error %v want nil", err)
	}
	return tel, reader
}

// TestClosedMembersLeaveNothing makes, uses and closes throttles. After Shutdown it closes none. The hooks keep the first one, so the
// last one is that which must be collected.
func TestClosedMembersLeaveNothing(t *testing.T) {
	tel, reader := adapter(t)
	hooks := tel.Hooks()
	for _, closes := range []bool{true, false} {
		var last weak.Pointer[throttle.Throttle]
		for range 100 {
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
			_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })
			if closes {
				_ = th.Close()
			}
			last = weak.Make(th)
		}
		runtime.GC()
		runtime.GC()
		if got := len(page(t, reader)); got != 0 || last.Value() != nil {
			t.Errorf("got %d series, a closed throttle still there %v want 0 and false", got, last.Value() != nil)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: got error %v want nil", err)
		}
	}
	runtime.KeepAlive(hooks.Created)
}

// TestMembersDrain: a member that leaves while a call waits is kept until the call has ended, which it may yet count.
func TestMembersDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, _ := adapter(t)
		l := bucket.Must(bucket.New(bucket.Config{Name: "db", Limit: bucket.Every(time.Hour), Hooks: tel.BucketHooks()}))
		_, _ = l.Decide(t.Context(), "")
		wantDrain(t, tel.buckets.Registry, l, bucket.ErrClosed, func() error { return l.Wait(context.Background(), "", 1) })

		r := backoff.Must(backoff.New(backoff.Config{Name: "db", InitialInterval: time.Second, Hooks: tel.BackoffHooks()}))
		_, _ = r.SleepOnFailure(t.Context()), r.SleepOnFailure(t.Context())
		wantDrain(t, tel.backoffs.Registry, r, backoff.ErrClosed, func() error {
			_, err := r.Wait(context.Background())
			return err
		})
	})
}

func wantDrain[T, S, R, L any](t *testing.T, r *byname.Registry[*T, S, R, L], m *T, closed error, wait func() error) {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- wait() }()
	synctest.Wait()
	r.Leave(m) // as Close does, which also ends the wait, at any time
	for _, want := range []int{1, 0} {
		_, _, _ = r.Sources()[0].Read()
		if _, got := r.Sources()[0].Len(); got != want {
			t.Errorf("members that drain: got %d want %d", got, want)
		}
		_ = any(m).(io.Closer).Close()
		if want > 0 {
			if err := <-answer; !errors.Is(err, closed) {
				t.Errorf("waiting call: got error %v want %v", err, closed)
			}
			synctest.Wait()
		}
	}
}
