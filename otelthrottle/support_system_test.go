package otelthrottle_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
)

// system is one kind of thing that the adapter watches: tests that are the same for all kinds range
// over systems.
type system struct {
	noun    string
	key     attribute.Key             // of the name
	counter func(name string) string  // the series that each use of a member adds one to
	family  string                    // a Prometheus metric of which each name has one series
	start   func(*lab, manner) member // makes a member
}

// manner says how a member is made: its name, with the hooks of the adapter twice, or without their
// Created.
type manner struct {
	name             string
	twice, uncreated bool
}

// member is a thing that can be used. A use adds a span or an event to the trace of its caller.
type member struct {
	io.Closer
	use func(context.Context)
}

func systems() []system {
	return []system{
		{"throttle", semconv.KeyName, func(name string) string {
			return series(semconv.MetricCalls, "throttle.name", name, "throttle.priority", "high",
				"throttle.decision", "admitted", "throttle.outcome", "accepted")
		}, "throttle_priority_clamped_total", startThrottle},
		{"breaker", semconv.KeyBreakerName, func(name string) string {
			return series(semconv.MetricBreakerCalls, "throttle.breaker.name", name,
				"throttle.breaker.state", "disabled", "throttle.decision", "shed")
		}, "throttle_breaker_leader", startBreaker},
		{"bucket", semconv.KeyBucketName, func(name string) string {
			return series(semconv.MetricBucketRequests, "throttle.bucket.name", name, "throttle.bucket.result", "failed_closed")
		}, "throttle_bucket_waiting", startLimiter},
		{"backoff", semconv.KeyBackoffName, func(name string) string {
			return series(semconv.MetricBackoffCalls, "throttle.backoff.name", name, "throttle.backoff.outcome", "success")
		}, "throttle_backoff_waiting", startBackoff},
	}
}

// hooksOf returns hooks of the adapter, once or twice.
func hooksOf[H any](how manner, get func() H, join func(...H) H) H {
	if how.twice {
		return join(get(), get())
	}
	return get()
}

func startThrottle(l *lab, how manner) member {
	hooks := hooksOf(how, l.tel.Hooks, throttle.JoinHooks)
	if how.uncreated {
		hooks.Created = nil
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: how.name, Hooks: hooks}))
	return member{th, func(ctx context.Context) { _ = th.Do(ctx, throttle.High, succeed) }}
}

// startBreaker returns a breaker that refuses each call.
func startBreaker(l *lab, how manner) member {
	hooks := hooksOf(how, l.tel.BreakerHooks, breaker.JoinHooks)
	if how.uncreated {
		hooks.Created = nil
	}
	m := breaker.Must(breaker.New(breaker.Config{Name: how.name, StoreTimeout: time.Minute, Hooks: hooks}))
	if err := m.Disable(context.Background(), breaker.Key{ID: "a"}); err != nil {
		panic(err)
	}
	return member{m, func(ctx context.Context) { _ = m.CanExecute(ctx, breaker.Key{ID: "a"}) }}
}

// startLimiter returns a limiter that denies each request, because its store fails.
func startLimiter(l *lab, how manner) member {
	hooks := hooksOf(how, l.tel.BucketHooks, bucket.JoinHooks)
	if how.uncreated {
		hooks.Created = nil
	}
	limiter := bucket.Must(bucket.New(bucket.Config{
		Name: how.name, Limit: bucket.PerSecond(1), Store: newDoubtfulStore(errPlain), OnFailure: bucket.FailClosed,
		StoreTimeout: time.Minute, OneByOne: true, Hooks: hooks,
	}))
	return member{limiter, func(ctx context.Context) { _, _ = limiter.Decide(ctx, "") }}
}

// startBackoff returns a backoff whose calls need not wait. Each use calls the hook Slept.
func startBackoff(l *lab, how manner) member {
	hooks := hooksOf(how, l.tel.BackoffHooks, backoff.JoinHooks)
	if how.uncreated {
		hooks.Created = nil
	}
	r := backoff.Must(backoff.New(backoff.Config{Name: how.name, Hooks: hooks}))
	return member{r, func(ctx context.Context) {
		if p, err := r.Wait(ctx); err == nil {
			p.Finish(backoff.Success)
		}
		if hooks.Slept != nil {
			hooks.Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Second})
		}
	}}
}

// tuneMode returns a Control that the adapter watches, which has switched off the throttle db.
func tuneMode(ctx context.Context, t testing.TB, l *lab) *control.Control {
	t.Helper()
	c := throttle.Must(control.New(control.Config{Hooks: l.tel.ControlHooks()}))
	t.Cleanup(func() { _ = c.Close() })
	off := control.Throttle{
		Patch: throttle.Patch{Mode: new(throttle.ModeOff)}, Terms: control.Terms{By: "ana", Reason: "INC-7", Optional: true},
	}
	throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: c.ThrottleHooks()}))
	if _, err := c.Apply(ctx, control.Document{Throttles: map[string]*control.Throttle{"db": &off}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// eachSystem runs a test for each system, with a lab of its own.
func eachSystem(t *testing.T, test func(*testing.T, *lab, system), options ...otelthrottle.Option) {
	t.Helper()
	for _, s := range systems() {
		t.Run(s.noun, func(t *testing.T) { test(t, newLab(t, setup{options: options}), s) })
	}
}

func (s snapshot) named(name string) snapshot {
	some := snapshot{}
	for key, value := range s {
		if strings.Contains(key, "name="+name) {
			some[key] = value
		}
	}
	return some
}

// pushed returns the series of the histograms, which the SDK keeps until the MeterProvider is shut
// down.
func (s snapshot) pushed() snapshot {
	return s.of(semconv.MetricCallDuration, semconv.MetricBucketStoreDuration, semconv.MetricBackoffSleepDuration)
}
