//go:build !race

// Under the race detector the SDK allocates more, and a sync.Pool drops some of what it gets:
// allocations are counted without it.

package otelthrottle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deixis/faults"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// callsPerRun is how many calls are one run of AllocsPerRun, which rounds down: what allocates once in sixteen calls, as
// looking at the window anew might, would go unseen in runs of one.
const callsPerRun = 64

// allocs returns how much 64 calls allocate, once everything that is made only once has been.
func allocs(call func()) float64 {
	for range 2 * callsPerRun {
		call()
	}
	return testing.AllocsPerRun(100, func() {
		for range callsPerRun {
			call()
		}
	})
}

func mustEnd(t testing.TB, want error, call func() error) func() {
	return func() {
		if got := call(); !errors.Is(got, want) || want == nil && got != nil {
			t.Fatalf("call: got %v want %v", got, want)
		}
	}
}

// freeCall is a call that must not allocate under a span that is not sampled, nor without one.
type freeCall struct {
	name     string
	mode     throttle.Mode
	rejected int  // calls before it
	sheds    bool // as the dice fall
	fn       func(context.Context) error
	fallback []throttle.Fallback
	want     error
}

func freeCalls() []freeCall {
	serves := []throttle.Fallback{func(context.Context, error, bool) error { return nil }}
	return []freeCall{
		{name: "allowed", fn: succeed},
		{name: "allowed at a probability", rejected: 60, fn: succeed},
		{name: "shed", rejected: 60, sheds: true, fn: succeed, want: throttle.ErrShed},
		{name: "shed, with a fallback", rejected: 60, sheds: true, fn: succeed, fallback: serves},
		{name: "rejected", mode: throttle.ModeOff, fn: returns(errBusy), want: errBusy},
		{name: "rejected at a probability", rejected: 60, fn: returns(errBusy), want: errBusy},
		{name: "not found", fn: returns(faults.NotFound), want: faults.NotFound},
		{name: "plain error", fn: returns(errPlain), want: errPlain},
		{name: "rejected, served by a fallback", mode: throttle.ModeOff, fn: returns(errBusy), fallback: serves},
		{name: "let through by Shadow", mode: throttle.ModeShadow, rejected: 60, sheds: true, fn: succeed},
	}
}

// prepare returns the call, on a throttle of its own. Its ratio is one at which accepted calls do not bring the
// probability down.
func (c freeCall) prepare(t testing.TB, ctx context.Context, l *lab) func() {
	t.Helper()
	th := l.throttle(t, throttle.Config{Name: c.name, Mode: c.mode, Ratio: 1.000001})
	l.reject(t, th, throttle.Low, c.rejected)
	l.sheds.Store(c.sheds)
	return mustEnd(t, c.want, func() error { return th.Do(ctx, throttle.Low, c.fn, c.fallback...) })
}

// TestCallsAllocateNothing makes every kind of call with metrics on. To build attributes on a call takes memory, and fails here.
func TestCallsAllocateNothing(t *testing.T) {
	none := func(*lab) context.Context { return context.Background() }
	request := func(l *lab) context.Context {
		ctx, _ := l.request(context.Background())
		return ctx
	}
	for _, s := range []struct {
		name  string
		setup setup
		ctx   func(*lab) context.Context
	}{
		{"no parent", setup{}, none},
		{"unsampled parent", setup{sampler: sdktrace.ParentBased(sdktrace.NeverSample())}, request},
		{"sampled parent, filtered", setup{options: []otelthrottle.Option{keepOnly("none")}}, request},
		{"without duration and spans", setup{options: []otelthrottle.Option{otelthrottle.WithoutDuration(), otelthrottle.WithoutSpans()}}, request},
	} {
		l := newLab(t, s.setup)
		ctx := s.ctx(l)
		for _, c := range freeCalls() {
			t.Run(s.name+"/"+c.name, func(t *testing.T) { wantAllocs(t, 0, c.prepare(t, ctx, l)) })
		}
		two := l.throttle(t, throttle.Config{Name: "two-phase"})
		t.Run(s.name+"/two-phase", func(t *testing.T) {
			wantAllocs(t, 0, mustEnd(t, nil, func() error {
				call, err := two.Admit(ctx, throttle.Low)
				call.Done(err)
				return err
			}))
		})
	}
}

// TestGroupsAllocateNothing calls members of a group whose metrics have keys, under no span.
func TestGroupsAllocateNothing(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithGroupDetail(2)}})
	g := l.group(t, throttle.GroupConfig{})
	for _, key := range []string{"first", "second", "other"} {
		th := groupMember(t, g, key)
		t.Run(key, func(t *testing.T) {
			wantAllocs(t, 0, mustEnd(t, nil, func() error { return th.Do(context.Background(), throttle.Low, succeed) }))
		})
	}
}

// TestSampledSpanAllocatesLittle makes calls that get a span.
func TestSampledSpanAllocatesLittle(t *testing.T) {
	const most = 7
	l := newLab(t, setup{})
	traces := sdktrace.NewTracerProvider() // which keeps none
	l.tel = newTelemetry(t, otelthrottle.WithMeterProvider(l.meters), otelthrottle.WithTracerProvider(traces))
	ctx, request := traces.Tracer("application").Start(context.Background(), "request")
	defer request.End()
	for _, c := range freeCalls() {
		t.Run(c.name, func(t *testing.T) { wantAllocs(t, most, c.prepare(t, ctx, l)) })
	}
}

// wantAllocs fails the test if a call allocates more often than most. On a busy machine other goroutines may allocate meanwhile, so it
// counts again then.
func wantAllocs(t *testing.T, most float64, call func()) {
	t.Helper()
	got := allocs(call) / callsPerRun
	for again := 0; got > most && again < 3; again++ {
		got = allocs(call) / callsPerRun
	}
	if got > most {
		t.Errorf("allocations of a call: got %v want at most %v", got, most)
	}
}

// TestHooksAllocateNothing calls the hooks of the other systems with metrics on, under a span that is not recording.
func TestHooksAllocateNothing(t *testing.T) {
	l := newLab(t, setup{options: detailed()})
	ctx, request := l.request(context.Background())
	request.End() // exemplars lead to it
	b, limiter := l.tel.BucketHooks(), l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	r, m := l.backoff(t, backoff.Config{}), l.breaker(t, breaker.Config{})
	for name, call := range map[string]func(){
		"denied": func() { b.Denied(ctx, bucket.DenialEvent{Limiter: limiter, Err: errPlain}) },
		"waited": func() { b.Waited(ctx, bucket.WaitEvent{Limiter: limiter, Err: context.Canceled}) },
		"asked":  func() { b.StoreCalled(ctx, bucket.StoreEvent{Limiter: limiter, Duration: time.Second, Err: errPlain}) },
		"slept":  func() { l.tel.BackoffHooks().Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Second}) },
		"a call that need not wait": func() {
			p, _ := r.Wait(ctx)
			p.Finish(backoff.Success)
		},
		"a denial":                        func() { _, _ = limiter.DecideAtMost(ctx, "", 2) },
		"a call through a closed circuit": func() { _ = m.CanExecute(ctx, breaker.Key{ID: "a"}) },
	} {
		t.Run(name, func(t *testing.T) { wantAllocs(t, 0, call) })
	}
}
