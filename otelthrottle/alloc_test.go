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
	"go.opentelemetry.io/otel/trace"

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

// mustEnd makes a call that must end with err.
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

// twoPhase returns a call by Admit and Done.
func twoPhase(t testing.TB, ctx context.Context, l *lab) func() {
	th := l.throttle(t, throttle.Config{Name: "two-phase"})
	return mustEnd(t, nil, func() error {
		call, err := th.Admit(ctx, throttle.Low)
		call.Done(err)
		return err
	})
}

// TestCallsAllocateNothing makes every kind of call with metrics on. To build attributes on a call takes memory, and fails here.
func TestCallsAllocateNothing(t *testing.T) {
	unsampled := sdktrace.ParentBased(sdktrace.NeverSample())
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
	surroundings := []struct {
		name  string
		setup setup
		ctx   func(*lab) context.Context
	}{
		{"no parent", setup{}, func(*lab) context.Context { return context.Background() }},
		{"unsampled parent", setup{sampler: unsampled}, func(l *lab) context.Context {
			ctx, _ := l.request(context.Background())
			return ctx
		}},
		{"unsampled remote parent", setup{sampler: unsampled}, func(*lab) context.Context {
			return trace.ContextWithRemoteSpanContext(context.Background(), remote)
		}},
		{"sampled parent, filtered", setup{options: []otelthrottle.Option{keepOnly("none")}}, func(l *lab) context.Context {
			ctx, _ := l.request(context.Background())
			return ctx
		}},
		{"without duration and spans", setup{options: []otelthrottle.Option{
			otelthrottle.WithoutDuration(), otelthrottle.WithoutSpans(),
		}}, func(*lab) context.Context { return context.Background() }},
	}
	for _, s := range surroundings {
		l := newLab(t, s.setup)
		ctx := s.ctx(l)
		for _, c := range freeCalls() {
			t.Run(s.name+"/"+c.name, func(t *testing.T) { wantAllocs(t, 0, c.prepare(t, ctx, l)) })
		}
		t.Run(s.name+"/two-phase", func(t *testing.T) { wantAllocs(t, 0, twoPhase(t, ctx, l)) })
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

// TestSampledSpanAllocatesLittle makes calls that get a span, which the SDK does not export.
func TestSampledSpanAllocatesLittle(t *testing.T) {
	const most = 7
	l := newLab(t, setup{})
	traces := sdktrace.NewTracerProvider()
	l.tel = newTelemetry(t, otelthrottle.WithMeterProvider(l.meters), otelthrottle.WithTracerProvider(traces))
	ctx, request := traces.Tracer("application").Start(context.Background(), "request")
	defer request.End()
	for _, c := range freeCalls() {
		t.Run(c.name, func(t *testing.T) { wantAllocs(t, most, c.prepare(t, ctx, l)) })
	}
	t.Run("two-phase", func(t *testing.T) { wantAllocs(t, most, twoPhase(t, ctx, l)) })
}

// wantAllocs fails the test if a call allocates more often than most.
func wantAllocs(t *testing.T, most float64, call func()) {
	t.Helper()
	got := allocs(call) / callsPerRun
	t.Logf("%v allocations", got)
	if got > most {
		t.Errorf("allocations of a call: got %v want at most %v", got, most)
	}
}

// TestBreakersAllocateNothingMore compares calls with the hooks and without: no call allocates more, as long as no span is recording.
func TestBreakersAllocateNothingMore(t *testing.T) {
	l := newLab(t, setup{sampler: sdktrace.ParentBased(sdktrace.NeverSample()), options: detailed()})
	ctx, _ := l.request(context.Background())
	for _, id := range []string{"closed", "disabled"} {
		var got [2]float64
		for i, m := range []*breaker.Manager{breaker.Must(breaker.New(breaker.Config{Name: "bare"})), l.breaker(t, breaker.Config{})} {
			disable(t, m, breaker.Key{ID: "disabled"})
			got[i] = allocs(func() { _ = m.CanExecute(ctx, breaker.Key{ID: id}) })
		}
		if got[1] > got[0] || id == "closed" && got[1] > 0 {
			t.Errorf("allocations of %d %s calls: got %v with hooks, %v without", callsPerRun, id, got[1], got[0])
		}
	}
}

// TestHooksAllocateNothing calls the hooks of buckets and backoffs with every kind of event, with
// metrics on.
func TestHooksAllocateNothing(t *testing.T) {
	l := newLab(t, setup{sampler: sdktrace.ParentBased(sdktrace.NeverSample())})
	unsampled, _ := l.request(context.Background())
	for name, call := range hookEvents(t, l) {
		for where, ctx := range map[string]context.Context{"no span": context.Background(), "unsampled": unsampled} {
			t.Run(where+"/"+name, func(t *testing.T) { wantAllocs(t, 0, func() { call(ctx) }) })
		}
	}
}

func hookEvents(t *testing.T, l *lab) map[string]func(context.Context) {
	b, limiter := l.tel.BucketHooks(), l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	s, r := l.tel.BackoffHooks(), l.backoff(t, backoff.Config{})
	return map[string]func(context.Context){
		"denied":           func(ctx context.Context) { b.Denied(ctx, bucket.DenialEvent{Limiter: limiter, Tokens: 1}) },
		"denied, no store": func(ctx context.Context) { b.Denied(ctx, bucket.DenialEvent{Limiter: limiter, Err: errPlain}) },
		"waited":           func(ctx context.Context) { b.Waited(ctx, bucket.WaitEvent{Limiter: limiter, Duration: time.Second}) },
		"wait canceled":    func(ctx context.Context) { b.Waited(ctx, bucket.WaitEvent{Limiter: limiter, Err: context.Canceled}) },
		"asked": func(ctx context.Context) {
			b.StoreCalled(ctx, bucket.StoreEvent{Limiter: limiter, Duration: time.Second})
		},
		"store failed":   func(ctx context.Context) { b.StoreCalled(ctx, bucket.StoreEvent{Limiter: limiter, Err: errPlain}) },
		"slept":          func(ctx context.Context) { s.Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Second}) },
		"sleep canceled": func(ctx context.Context) { s.Slept(ctx, backoff.SleepEvent{Responsive: r, Err: context.Canceled}) },
		"a denial":       func(ctx context.Context) { _, _ = limiter.DecideAtMost(ctx, "", 2) },
		"a call that need not wait": func(ctx context.Context) {
			p, _ := r.Wait(ctx)
			p.Finish(backoff.Success)
		},
	}
}

// TestExemplarsAllocateNothing keeps an exemplar each time, under a span that is sampled and
// records no more.
func TestExemplarsAllocateNothing(t *testing.T) {
	l := newLab(t, setup{})
	ctx, request := l.request(context.Background())
	request.End()
	for _, name := range []string{"asked", "slept"} {
		call := hookEvents(t, l)[name]
		t.Run(name, func(t *testing.T) { wantAllocs(t, 0, func() { call(ctx) }) })
	}
}
