package otelthrottle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// untouched is what a new manager shows: everything that can be, from 0.
func untouched() snapshot {
	want := snapshot{leads: 0}
	for s := range breaker.Disabled + 1 {
		want[circuitsIn(s)], want[changesTo(s)] = 0, 0
	}
	for f := range (breaker.ErrorCounts{}).All() {
		want[failed(f)] = 0
	}
	for _, s := range []breaker.State{breaker.Closed, breaker.HalfOpen} {
		want[decided("admitted", s)] = 0
	}
	for _, s := range []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Disabled} {
		want[decided("shed", s)] = 0
	}
	return want
}

func TestBreakersBeginAtZero(t *testing.T) {
	l := newLab(t, setup{options: detailed()})
	m := l.breaker(t, breaker.Config{})
	l.read(t).want(t, untouched())
	_ = m.Close()

	closed := l.breaker(t, breaker.Config{OnStale: breaker.FailClosed})
	want := untouched()
	want[decided("shed", breaker.Closed)] = 0
	l.read(t).want(t, want)
	l.breaker(t, breaker.Config{}) // of the same name, and open
	l.read(t).want(t, want)
	refresh(t, closed)
	equal(t, "series once the store was read", len(l.read(t)), len(want)+1)
	comment := strings.Join(strings.Fields(packageComment(t)), " ")
	if sentence := fmt.Sprintf("A breaker has %d series for any number of circuits, one more with FailClosed", len(want)); !strings.Contains(comment, sentence) {
		t.Errorf("package comment: got no %q", sentence)
	}
}

// TestBreakerGoesThroughAllStates lets a circuit open, become half-open, and be disabled, and calls it meanwhile.
func TestBreakerGoesThroughAllStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{options: detailed()})
		m := l.breaker(t, breaker.Config{Poll: dead("a"), ConsecutiveFailureThreshold: 2, HalfOpenProbes: 1, SampleRate: time.Second})
		a, b := breaker.Key{ID: "a"}, breaker.Key{ID: "b"}
		want := untouched()
		step := func(change func()) {
			t.Helper()
			change()
			l.read(t).want(t, want)
		}
		step(func() {
			admit(t, m, a)
			want[decided("admitted", breaker.Closed)] = 1
		})
		step(func() {
			sample(t, m)
			refuse(t.Context(), t, m, a)
			admit(t, m, b)
			want[snapshotAge] = 0
			want[circuitsIn(breaker.Open)], want[changesTo(breaker.Open)] = 1, 1
			want[decided("shed", breaker.Open)], want[decided("admitted", breaker.Closed)] = 1, 2
			want[circuit(breaker.Open, "a")] = 1
		})
		step(func() {
			time.Sleep(30 * time.Second)
			refuse(t.Context(), t, m, a) // no probe was granted yet
			want[snapshotAge] = 30
			want[circuitsIn(breaker.Open)], want[circuitsIn(breaker.HalfOpen)] = 0, 1
			want[decided("shed", breaker.HalfOpen)] = 1
			delete(want, circuit(breaker.Open, "a"))
			want[circuit(breaker.HalfOpen, "a")] = 1
		})
		step(func() {
			sample(t, m)
			refuse(t.Context(), t, m, a)
			want[snapshotAge] = 0
			want[circuitsIn(breaker.HalfOpen)], want[circuitsIn(breaker.Disabled)] = 0, 1
			want[changesTo(breaker.HalfOpen)], want[changesTo(breaker.Disabled)] = 1, 1
			want[decided("shed", breaker.Disabled)] = 1
			delete(want, circuit(breaker.HalfOpen, "a"))
			want[circuit(breaker.Disabled, "a")] = 1
		})
	})
}

// TestManagersOfOneNameAreOneSource has two managers with one store: what they did is added up, what they see is not.
func TestManagersOfOneNameAreOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{options: detailed()})
		c := breaker.Config{Store: breaker.NewMemoryStore()}
		first, second := l.breaker(t, c), l.breaker(t, c)
		x, y := breaker.Key{ID: "x"}, breaker.Key{ID: "y"}
		disable(t, first, x)
		disable(t, first, y)
		time.Sleep(4 * time.Second)
		refresh(t, second)
		disable(t, second, breaker.Key{ID: "z"})
		for _, m := range []*breaker.Manager{first, second} {
			refuse(t.Context(), t, m, x)
			admit(t, m, breaker.Key{ID: "other"})
		}
		want := snapshot{
			circuitsIn(breaker.Disabled): 3, changesTo(breaker.Disabled): 3, decided("shed", breaker.Disabled): 2,
			decided("admitted", breaker.Closed): 2, snapshotAge: 4,
			circuit(breaker.Disabled, "x"): 1, circuit(breaker.Disabled, "y"): 1, circuit(breaker.Disabled, "z"): 1,
		}
		l.read(t).positive().want(t, want)

		_ = second.Close()
		want[circuitsIn(breaker.Disabled)] = 2
		delete(want, circuit(breaker.Disabled, "z"))
		l.read(t).positive().want(t, want)
		_ = first.Close()
		l.read(t).want(t, snapshot{})
	})
}

// TestTheNewestViewOfACircuitCounts has two managers of one name. One of them has not read that a circuit is closed again, or
// that one is disabled by now.
func TestTheNewestViewOfACircuitCounts(t *testing.T) {
	for _, behindFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("the one behind is the first %v", behindFirst), func(t *testing.T) {
			l := newLab(t, setup{options: detailed()})
			c := breaker.Config{Store: breaker.NewMemoryStore()}
			ahead, behind := l.breaker(t, c), l.breaker(t, c)
			if behindFirst {
				ahead, behind = behind, ahead
			}
			healed, died := breaker.Key{ID: "healed"}, breaker.Key{ID: "died"}
			for _, k := range []breaker.Key{healed, died} {
				if err := ahead.ForceOpen(t.Context(), k); err != nil {
					t.Fatalf("ForceOpen: got error %v want nil", err)
				}
			}
			refresh(t, behind)
			if err := ahead.ForceClose(t.Context(), healed); err != nil {
				t.Fatalf("ForceClose: got error %v want nil", err)
			}
			disable(t, ahead, died)
			l.read(t).of(semconv.MetricBreakerCircuit).want(t, snapshot{circuit(breaker.Disabled, "died"): 1})
		})
	}
}

// TestLeaders counts the managers that lead: of one store one, of two stores two.
func TestLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		ctx, cancel := context.WithCancel(t.Context())
		shared := breaker.NewMemoryStore()
		var running sync.WaitGroup
		for _, store := range []store.Store{shared, shared, breaker.NewMemoryStore()} {
			m := l.breaker(t, breaker.Config{Store: store})
			running.Go(func() { _ = m.Run(ctx) })
		}
		time.Sleep(10 * time.Second)
		equal(t, "leaders", l.read(t)[leads], 2)
		cancel()
		running.Wait()
		equal(t, "leaders of none that run", l.read(t)[leads], 0)
	})
}

// breakerAudit counts series from the events of hooks.
type breakerAudit struct{ audit }

func (a *breakerAudit) hooks() breaker.Hooks {
	return breaker.Hooks{
		Shed: func(ctx context.Context, e breaker.ShedEvent) {
			*ctx.Value(fateKey{}).(*bool) = true
			decision := "shed"
			if e.Shadow {
				decision = "shadow_shed"
			}
			a.count(semconv.MetricBreakerCalls, "throttle.breaker.name", e.Manager.Name(),
				"throttle.breaker.state", e.State.String(), "throttle.decision", decision)
		},
		Changed: func(e breaker.Event) {
			a.count(semconv.MetricBreakerTransitions, "throttle.breaker.name", e.Breaker, "throttle.breaker.state", e.To.String())
		},
		Failed: func(e breaker.FailureEvent) {
			a.count(semconv.MetricBreakerFailures, "throttle.breaker.name", e.Manager.Name(), "throttle.breaker.failure", e.Failure.String())
		},
	}
}

// TestPulledTotalsOfBreakersAreThePushedEvents makes random calls and changes on managers of two names, some of which fail, while
// collections run, and then compares every series.
func TestPulledTotalsOfBreakersAreThePushedEvents(t *testing.T) {
	l, a := newLab(t, setup{}), &breakerAudit{audit{series: snapshot{}}}
	failing := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return nil, errPlain
	}
	shared := breaker.Config{Name: "a", Store: breaker.NewMemoryStore(), Poll: failing} // the leader polls
	var managers []*breaker.Manager
	for _, c := range []breaker.Config{
		shared, shared, shared, {Name: "b", Mode: throttle.ModeShadow},
	} {
		c.Hooks = a.hooks()
		managers = append(managers, l.breaker(t, c))
	}
	atRandom(16, 5, func(dice *rand.Rand) {
		for range few(200, 80) {
			a.randomStep(managers[dice.IntN(len(managers))], dice)
		}
		l.read(t)
	})
	got := l.read(t).of(semconv.MetricBreakerCalls, semconv.MetricBreakerTransitions, semconv.MetricBreakerFailures).positive()
	got.want(t, a.series)
	got.wantSome(t,
		"state=open,throttle.decision=shed", "state=disabled,throttle.decision=shed", "decision=shadow_shed", "decision=admitted",
		"failure=poll", "transitions{throttle.breaker.name=a,throttle.breaker.state=closed",
	)
	for _, m := range managers[:3] {
		_ = m.Close()
	}
	for key := range l.read(t) {
		if strings.Contains(key, "name=a") {
			t.Errorf("after Close: got %s want no such series", key)
		}
	}
}

// randomStep makes a call, or changes a circuit, or makes a round. There is no hook for admitted calls: they are counted here.
func (a *breakerAudit) randomStep(m *breaker.Manager, dice *rand.Rand) {
	ctx, k := context.Background(), breaker.Key{ID: fmt.Sprint(dice.IntN(4))}
	switch dice.IntN(30) {
	case 0:
		_ = m.Disable(ctx, k)
	case 1:
		_ = m.ForceOpen(ctx, k)
	case 2:
		_ = m.Enable(ctx, k)
	case 3:
		_ = m.Refresh(ctx)
	case 4:
		_ = m.Sample(ctx)
	default:
		told := false
		if err := m.CanExecute(context.WithValue(ctx, fateKey{}, &told), k); err == nil && !told {
			a.count(semconv.MetricBreakerCalls, "throttle.breaker.name", m.Name(),
				"throttle.breaker.state", "closed", "throttle.decision", "admitted")
		}
	}
}
