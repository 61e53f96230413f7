package otelthrottle_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// everyKind makes a throttle, a breaker, a limiter and a backoff do everything that is reported, at least once.
func everyKind(t testing.TB, l *lab, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Slow = time.Hour // no call is late, but the metrics are there
	th := l.throttle(t, c)
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	times(1, th, 99, nil)
	times(1, th, throttle.High, errPlain)
	l.reject(t, th, throttle.Low, 60)
	l.shed(throttle.WithTenant(t.Context(), "shop 17"), t, th, throttle.Low, 2)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), serves)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), fails)
	times(1, th, throttle.High, throttle.MarkOverloaded(errBusy))
	th.Exempt()
	th.ReceiveLoad(throttle.LoadReport{Overloaded: true})
	th.LoadReport()
	if err := th.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)}); err != nil {
		t.Fatalf("Tune: got error %v want nil", err)
	}
	l.sheds.Store(true)
	times(1, th, throttle.Low, nil)
	times(1, th, throttle.Low, errBusy)
	l.sheds.Store(false)
	if _, err := th.Admit(t.Context(), throttle.Medium); err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	dryRun := l.breaker(t, breaker.Config{Name: "webhooks", Mode: throttle.ModeShadow})
	disable(t, dryRun, breaker.Key{Tenant: "acme", ID: "a"})
	equal(t, "CanExecute in ModeShadow", dryRun.CanExecute(t.Context(), breaker.Key{Tenant: "acme", ID: "a"}), nil)
	for name, err := range map[string]error{"geocoder": nil, "partner": errPlain} { // of the store
		take(t.Context(), t, l.limiter(t, bucket.Config{Name: name, Store: newDoubtfulStore(err)}), 1)
	}
	r := l.backoff(t, backoff.Config{Mode: backoff.Sleep, InitialInterval: time.Millisecond})
	end(t.Context(), t, r, backoff.Success, backoff.Ignored, backoff.ThrottledFor(time.Millisecond), backoff.Success)
	everyRetry(t, l)
	if err := tuneMode(t.Context(), t, l).Watch(t.Context(), filepath.Join(t.TempDir(), "missing.json")); err != nil {
		t.Fatal(err)
	}
	return th
}
