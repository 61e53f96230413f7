package otelthrottle_test

import (
	"context"
	"errors"
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
	"github.com/spillway-go/spillway/throttle/bucket/store"
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

// backoff returns a Responsive without noise that the adapter watches, beside the hooks in c. By default it is called table, is in the mode
// Pace and begins with a second.
func (l *lab) backoff(t testing.TB, c backoff.Config) *backoff.Responsive {
	t.Helper()
	if c.Name == "" {
		c.Name = "table"
	}
	if c.InitialInterval == 0 {
		c.InitialInterval = time.Second
	}
	c.RandomizationFactor = -1
	c.Hooks = backoff.JoinHooks(l.tel.BackoffHooks(), c.Hooks)
	r, err := backoff.New(c)
	if err != nil {
		t.Fatalf("backoff.New: got error %v want nil", err)
	}
	return r
}

// end lets calls end so, each after its turn.
func end(ctx context.Context, t testing.TB, r *backoff.Responsive, outcomes ...backoff.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		p, err := r.Wait(ctx)
		if err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		p.Finish(o)
	}
}

// detailed returns the options with which all of throttles and breakers is reported.
func detailed() []otelthrottle.Option {
	return []otelthrottle.Option{otelthrottle.WithBreakerDetail(8)}
}

// breaker returns a manager that the adapter watches. Nothing runs by itself: the test makes its rounds.
func (l *lab) breaker(t testing.TB, c breaker.Config) *breaker.Manager {
	t.Helper()
	if c.Name == "" {
		c.Name = "webhooks"
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = time.Minute // a busy machine may need longer than the default
	}
	c.Hooks.Created, c.Hooks.Closed = l.tel.BreakerHooks().Created, l.tel.BreakerHooks().Closed
	if c.Hooks.Shed == nil {
		c.Hooks.Shed = l.tel.BreakerHooks().Shed
	}
	m, err := breaker.New(c)
	if err != nil {
		t.Fatalf("breaker.New: got error %v want nil", err)
	}
	return m
}

func disable(t testing.TB, m *breaker.Manager, k breaker.Key) {
	t.Helper()
	if err := m.Disable(context.Background(), k); err != nil {
		t.Fatalf("Disable: got error %v want nil", err)
	}
}

// doubtfulStore is a store that is not in memory, as far as limiters know, and that fails as the test says.
type doubtfulStore struct {
	store.Store
	fails func() error
}

// newDoubtfulStore returns a store that fails with err, or works if that is nil.
func newDoubtfulStore(err error) *doubtfulStore {
	return &doubtfulStore{Store: bucket.NewMemoryStore(), fails: func() error { return err }}
}

func (s *doubtfulStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	if err := s.fails(); err != nil {
		return bucket.Decision{}, err
	}
	return s.Store.Take(ctx, r)
}

// limiter returns a limiter that the adapter watches, beside the hooks in c. By default it is called geocoder and grants ten a minute.
func (l *lab) limiter(t testing.TB, c bucket.Config) *bucket.Limiter {
	t.Helper()
	if c.Name == "" {
		c.Name = "geocoder"
	}
	if c.Limit == (bucket.Limit{}) {
		c.Limit = bucket.Limit{Capacity: 10, Period: time.Minute, Algorithm: bucket.Continuous}
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = time.Minute // the test machine may stop for longer than the default
	}
	c.Hooks = bucket.JoinHooks(l.tel.BucketHooks(), c.Hooks)
	limiter, err := bucket.New(c)
	if err != nil {
		t.Fatalf("bucket.New: got error %v want nil", err)
	}
	return limiter
}

// take asks for n tokens, one after another, and returns how many of these requests were granted.
func take(ctx context.Context, t testing.TB, limiter *bucket.Limiter, n int) (granted int) {
	t.Helper()
	for range n {
		d, err := limiter.Decide(ctx, "")
		if err != nil && !errors.Is(err, bucket.ErrStore) {
			t.Fatalf("Decide: got error %v want nil", err)
		}
		if d.Allowed {
			granted++
		}
	}
	return granted
}
