package throttle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// BenchmarkCall is what one call costs around a function that does nothing, in every state that changes the price. The
// module internal/benchmarks compares it with a floor and with other libraries. Calls that write no cache line of each other
// take half the time with two processors as with one, and no longer with 16 goroutines on them than with two.
func BenchmarkCall(b *testing.B) {
	for _, c := range freeCalls(b) {
		c.warm(b)
		b.Run(c.name+"/serial", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = c.call()
			}
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = c.call()
				}
			})
		})
	}
}

// freeCall is a call that allocates nothing.
type freeCall struct {
	name string
	call func() error
	want error // what it ends with
}

// warm makes the call a thousand times: pools fill, pages of the ledger are made. It fails the test if the call does not end as
// it should.
func (c freeCall) warm(t testing.TB) {
	t.Helper()
	for range 1000 {
		if err := c.call(); !errors.Is(err, c.want) {
			t.Fatalf("%s: got error %v, want %v", c.name, err, c.want)
		}
	}
}

// freeCalls returns one of every kind, each through a throttle of its own.
func freeCalls(t testing.TB) []freeCall {
	calls := admittedCalls(t)
	calls = append(calls, listenedCalls(t)...)
	calls = append(calls, failedCalls(t)...)
	calls = append(calls, tieredCalls(t)...)
	return append(calls, shedCalls(t)...)
}

// around returns a call of succeed through a throttle with this config.
func around(ctx context.Context, t testing.TB, c throttle.Config, p throttle.Priority, fallback ...throttle.Fallback) func() error {
	th := build(t, c)
	return func() error { return th.Do(ctx, p, succeed, fallback...) }
}

func admittedCalls(t testing.TB) []freeCall {
	ctx := t.Context()
	generic, phased := build(t, throttle.Config{}), build(t, throttle.Config{})
	value := func(context.Context) (int, error) { return 1, nil }
	fallback := func(_ context.Context, err error, _ bool) error { return err }
	other := func(_ context.Context, err error, _ bool) (int, error) { return 0, err }
	return []freeCall{
		{name: "allowed", call: around(context.Background(), t, throttle.Config{}, throttle.High)},
		{name: "low", call: around(ctx, t, throttle.Config{}, throttle.Low)},
		{name: "clamped", call: around(ctx, t, throttle.Config{}, 100)},
		{name: "ctxpriority", call: around(throttle.WithPriority(ctx, throttle.Low), t, throttle.Config{}, throttle.High)},
		{name: "fallback", call: around(ctx, t, throttle.Config{}, throttle.High, fallback)},
		{name: "off", call: around(ctx, t, throttle.Config{Mode: throttle.ModeOff}, throttle.High)},
		{name: "generic", call: func() error {
			_, err := throttle.Do(ctx, generic, throttle.High, value)
			return err
		}},
		{name: "genericfallback", call: func() error {
			_, err := throttle.Do(ctx, generic, throttle.High, value, other)
			return err
		}},
		{name: "tenant", call: around(throttle.WithTenant(ctx, "ann"), t, throttle.Config{}, throttle.High)},
		{name: "admitdone", call: func() error { return admitAndDone(ctx, phased) }},
		{name: "slow", call: around(ctx, t, throttle.Config{Slow: time.Millisecond}, throttle.High)},
		{name: "slowauto", call: around(ctx, t, throttle.Config{SlowAuto: true}, throttle.High)},
		{name: "doubtful", call: doubtful(t, "")},
		{name: "doubtful/tenant", call: doubtful(t, "ann")},
	}
}

// admitAndDone is a call in two phases.
func admitAndDone(ctx context.Context, th *throttle.Throttle) error {
	call, err := th.Admit(ctx, throttle.High)
	if err != nil {
		return err
	}
	err = succeed(call.Context())
	call.Done(err)
	return err
}

// doubtful returns a call that is admitted although it might have been shed: for a minute, however many of them are made.
// It is a call of a tenant, one of two, unless tenant is empty.
func doubtful(t testing.TB, tenant string) func() error {
	ctx := throttle.WithTenant(t.Context(), tenant)
	th := build(t, throttle.Config{Ratio: 1 + 1e-9, Rand: lucky})
	times(100, th, throttle.High, errBusy)
	if p := th.RejectionProbability(throttle.High); p <= 0 {
		t.Fatalf("probability: got %v, want more than 0", p)
	}
	_ = th.Do(throttle.WithTenant(ctx, tenant+tenant), throttle.High, succeed)
	return func() error { return th.Do(ctx, throttle.High, succeed) }
}

// tieredCalls go through a throttle whose lower priorities answer for what the higher ones are refused.
func tieredCalls(t testing.TB) []freeCall {
	ctx := t.Context()
	fair, tight := throttle.Config{Policy: throttle.Tiered}, throttle.Config{Policy: throttle.Tiered, Rand: unlucky}
	troubled := buildTiered(t, throttle.Config{Rand: lucky})
	crowded := build(t, tight)
	for _, th := range []*throttle.Throttle{troubled, crowded} {
		times(100, th, throttle.High, errBusy)
		times(100, th, throttle.Low, errBusy)
	}
	return []freeCall{
		{name: "tiered/allowed", call: around(ctx, t, fair, throttle.High)},
		{name: "tiered/low", call: around(ctx, t, fair, throttle.Low)},
		{name: "tiered/doubtful", call: func() error { return troubled.Do(ctx, throttle.Low, succeed) }},
		{name: "tiered/shed", want: throttle.ErrShed, call: func() error { return crowded.Do(ctx, throttle.Low, succeed) }},
	}
}

// deaf are hooks that listen to everything and do nothing.
func deaf() throttle.Hooks {
	return throttle.Hooks{
		Shed:     func(context.Context, throttle.ShedEvent) {},
		Started:  func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx },
		Finished: func(context.Context, throttle.FinishEvent) {},
		FellBack: func(context.Context, throttle.FallbackEvent) {},
	}
}

func listenedCalls(t testing.TB) []freeCall {
	finished := throttle.Hooks{Finished: deaf().Finished}
	three := throttle.JoinHooks(deaf(), deaf(), deaf())
	return []freeCall{
		{name: "hooks/finished", call: around(t.Context(), t, throttle.Config{Hooks: finished}, throttle.High)},
		{name: "hooks/one", call: around(t.Context(), t, throttle.Config{Hooks: deaf()}, throttle.High)},
		{name: "hooks/three", call: around(t.Context(), t, throttle.Config{Hooks: three}, throttle.High)},
	}
}

// failedCalls end with an error of the function. The draws are lucky, so that none is shed.
func failedCalls(t testing.TB) []freeCall {
	marked := throttle.MarkRejected(errPlain)
	ends := []struct {
		name     string
		err, out error
	}{
		{"rejected/timeout", context.DeadlineExceeded, context.DeadlineExceeded},
		{"rejected/unavailable", errBusy, errBusy},
		{"rejected/marked", marked, errPlain},
		{"notfound/fault", faults.NotFound, faults.NotFound},
		{"notfound/plain", errPlain, errPlain},
		{"canceled", context.Canceled, context.Canceled},
	}
	var calls []freeCall
	for _, end := range ends {
		th := build(t, throttle.Config{Rand: lucky})
		fn := returns(end.err)
		calls = append(calls, freeCall{name: end.name, want: end.out, call: func() error {
			return th.Do(context.Background(), throttle.High, fn)
		}})
	}
	return calls
}

func shedCalls(t testing.TB) []freeCall {
	plain, served := shedding(t, throttle.Config{}), shedding(t, throttle.Config{})
	told := shedding(t, throttle.Config{Hooks: throttle.JoinHooks(deaf(), deaf(), deaf())})
	own := shedding(t, throttle.Config{ShedErr: errPlain})
	ctx := t.Context()
	fair, ann := shedding(t, throttle.Config{}), throttle.WithTenant(ctx, "ann")
	_ = fair.Do(throttle.WithTenant(ctx, "bob"), throttle.High, succeed)
	fallback := func(context.Context, error, bool) error { return nil }
	return []freeCall{
		{name: "shed/bare", want: throttle.ErrShed, call: func() error { return plain.Do(ctx, throttle.High, succeed) }},
		{name: "shed/tenant", want: throttle.ErrShed, call: func() error { return fair.Do(ann, throttle.High, succeed) }},
		{name: "shed/admit", want: throttle.ErrShed, call: func() error { return admitAndDone(ctx, plain) }},
		{name: "shed/fallback", call: func() error { return served.Do(ctx, throttle.High, succeed, fallback) }},
		{name: "shed/hooks", want: throttle.ErrShed, call: func() error { return told.Do(ctx, throttle.High, succeed) }},
		{name: "shed/ownerror", want: errPlain, call: func() error { return own.Do(ctx, throttle.High, succeed) }},
	}
}
