package otelthrottle_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// audit counts series from the events of hooks. The context of a call connects its events.
type audit struct {
	mu     sync.Mutex
	series snapshot
}

// fate is what the hooks reported of one call.
type fate struct {
	cause  throttle.Cause
	shadow bool
}

type fateKey struct{}

func fateOf(ctx context.Context) *fate { return ctx.Value(fateKey{}).(*fate) }

func (a *audit) count(metric string, pairs ...string) {
	key := series(metric, pairs...)
	a.mu.Lock()
	a.series[key]++
	a.mu.Unlock()
}

// withError adds the error.type of a fault, which a call without an error does not have.
func withError(pairs []string, f throttle.Fault) []string {
	switch f {
	case throttle.FaultNone:
		return pairs
	case throttle.FaultOther:
		return append(pairs, "error.type", "_OTHER")
	}
	return append(pairs, "error.type", f.String())
}

func (a *audit) hooks() throttle.Hooks {
	return throttle.Hooks{Shed: a.shed, Started: a.started, Finished: a.finished, FellBack: a.fellBack}
}

func (a *audit) shed(ctx context.Context, e throttle.ShedEvent) {
	if e.Shadow {
		fateOf(ctx).cause = e.Cause
		return
	}
	a.count(semconv.MetricCalls, "throttle.name", e.Throttle.Name(), "throttle.priority", e.Priority.String(),
		"throttle.decision", "shed", "throttle.outcome", "shed", "error.type", "shed", "throttle.cause", e.Cause.String())
}

func (a *audit) started(ctx context.Context, e throttle.StartEvent) context.Context {
	fateOf(ctx).shadow = e.Shadow
	return ctx
}

func (a *audit) finished(ctx context.Context, e throttle.FinishEvent) {
	pairs := withError([]string{
		"throttle.name", e.Throttle.Name(), "throttle.priority", e.Priority.String(), "throttle.outcome", e.Outcome.String(),
	}, e.Fault)
	a.count(semconv.MetricCallDuration, pairs...)
	if f := fateOf(ctx); f.shadow {
		pairs = append(pairs, "throttle.decision", "shadow_shed", "throttle.cause", f.cause.String())
	} else {
		pairs = append(pairs, "throttle.decision", "admitted")
		if e.Overloaded {
			a.count(semconv.MetricOverloads, "throttle.name", e.Throttle.Name(), "throttle.priority", e.Priority.String())
		}
	}
	a.count(semconv.MetricCalls, pairs...)
}

func (a *audit) fellBack(_ context.Context, e throttle.FallbackEvent) {
	a.count(semconv.MetricFallbacks, withError([]string{
		"throttle.name", e.Throttle.Name(), "throttle.priority", e.Priority.String(), "throttle.outcome", e.Outcome.String(),
	}, throttle.FaultOf(e.Err))...)
}

// ends are the ways in which a random call may end, rejections often enough for a throttle to shed.
func ends() []error {
	return []error{
		nil, nil, nil, errPlain, errBusy, errBusy, errBusy, faults.ResourceExhausted(), faults.NotFound, faults.PermissionDenied, faults.Bad(),
		context.DeadlineExceeded, context.Canceled, throttle.MarkRejected(errPlain), throttle.MarkOverloaded(errPlain), throttle.ErrShed,
	}
}

// randomCall makes a call of some form that ends somehow.
func randomCall(th *throttle.Throttle, dice *rand.Rand) {
	all := ends()
	end := func() error { return all[dice.IntN(len(all))] }
	panics := func(context.Context) error { panic("boom") }
	ctx := context.WithValue(context.Background(), fateKey{}, &fate{})
	p := throttle.Priority(dice.IntN(throttle.StandardPriorities + 1))
	switch dice.IntN(7) {
	case 0, 1:
		_ = th.Do(ctx, p, returns(end()))
	case 2:
		_ = th.Do(ctx, p, returns(end()), func(context.Context, error, bool) error { return end() })
	case 3:
		_, _ = throttle.Do(ctx, th, p, func(context.Context) (int, error) { return 0, end() },
			func(context.Context, error, bool) (int, error) { return 1, end() })
	case 4:
		if call, err := th.Admit(ctx, p); err == nil {
			call.Done(end())
		}
	case 5:
		if call, err := th.Admit(ctx, p); err == nil {
			call.Finish(throttle.Outcome(dice.IntN(int(throttle.Overloaded) + 1)))
		}
	case 6:
		_ = survive(func() {
			_ = th.Do(ctx, p, panics, func(context.Context, error, bool) error { panic("boom") })
		})
	}
}

// TestPulledTotalsAreThePushedEvents makes random calls on several throttles of two names, while their modes are turned round
// and collections run, and then compares every series.
func TestPulledTotalsAreThePushedEvents(t *testing.T) {
	l, a := newLab(t, setup{}), &audit{series: snapshot{}}
	var throttles []*throttle.Throttle
	for i := range 6 {
		name := []string{"db", "db", "db", "search"}[i%4]
		c := throttle.Config{Name: name, Ratio: 1.1, Hooks: throttle.JoinHooks(l.tel.Hooks(), a.hooks())}
		throttles = append(throttles, throttle.Must(throttle.New(c)))
	}
	var aside sync.WaitGroup
	var over atomic.Bool
	aside.Go(func() {
		for !over.Load() {
			l.read(t)
		}
	})
	var changes atomic.Int64
	atRandom(few(64, 16), 7, func(dice *rand.Rand) {
		for i := range few(300, 200) {
			if i%20 == 0 { // by the callers, so that every mode has calls on a busy machine too
				mode := throttle.Mode(changes.Add(1) % int64(throttle.ModeOff+1))
				for _, th := range throttles {
					if err := th.Tune(throttle.Patch{Mode: &mode}); err != nil {
						t.Errorf("Tune: got error %v want nil", err)
					}
				}
			}
			randomCall(throttles[dice.IntN(len(throttles))], dice)
		}
	})
	over.Store(true)
	aside.Wait()

	compared := []string{semconv.MetricCalls, semconv.MetricFallbacks, semconv.MetricOverloads, semconv.MetricCallDuration}
	got := l.read(t).of(compared...).positive()
	got.want(t, a.series)
	got.wantSome(t, "throttle.decision=admitted", "throttle.decision=shed", "throttle.decision=shadow_shed", "throttle.cause=own",
		"throttle.cause=above", "error.type=panic", "error.type=_OTHER", "throttle.outcome=ignored", semconv.MetricFallbacks+"{", semconv.MetricOverloads+"{")
	for _, th := range throttles[1:] {
		_ = th.Close()
	}
	want := a.series // but what is pulled from the throttle called search, which was the only one of its name
	maps.DeleteFunc(want, func(key string, _ float64) bool {
		return strings.Contains(key, "throttle.name=search") && !strings.HasPrefix(key, semconv.MetricCallDuration)
	})
	l.read(t).of(compared...).positive().want(t, want)
}

// TestMembersComeAndGo collects while members of three names are made, used and closed. No counter
// falls, and no use is lost.
func TestMembersComeAndGo(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		names := []string{"a", "b", "c"}
		var uses [3]atomic.Int64
		for _, name := range names {
			s.start(l, manner{name: name}) // stays, so that the series do
		}
		counted := func(all snapshot) snapshot {
			some := snapshot{}
			for _, name := range names {
				some[s.counter(name)] = all[s.counter(name)]
			}
			return some
		}
		l.readDuring(t, counted, func() {
			atRandom(8, 11, func(dice *rand.Rand) {
				for range few(60, 15) {
					i := dice.IntN(len(names))
					m := s.start(l, manner{name: names[i]})
					for range dice.IntN(20) {
						m.use(context.Background())
						uses[i].Add(1)
					}
					_ = m.Close()
				}
			})
		})
		for i, name := range names {
			equal(t, "uses of "+name, l.read(t)[s.counter(name)], float64(uses[i].Load()))
		}
	})
}
