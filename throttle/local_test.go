package throttle

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/processor"
)

var errNoProduct = errors.New("no such product")

func nothing(context.Context) error { return nil }

func wantSame[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// overloaded lets the throttle serve calls in a process whose goroutines wait for a processor for long.
// It returns when calls of Low are shed.
func overloaded(t testing.TB, th *Throttle, shadow bool) {
	t.Helper()
	p := processor.New(func(float64) (runnable, processors int, turns float64) { return 1000, 1, 8 })
	d := p.Demand(defaultProcessorWait, shadow)
	th.local.Store(d)
	for d.Enter(0, int(Low)) < 1 { // the process reads its scheduler every 10 ms of real time
		d.Enter(0, int(High))
		d.Enter(0, int(Important))
		runtime.Gosched()
	}
}

// TestLocalShed sheds calls of Low, because goroutines wait for a processor. The window does not count
// them, so that the policy sheds nothing.
func TestLocalShed(t *testing.T) {
	var events []ShedEvent
	th := Must(New(Config{Name: "shop", Hooks: Hooks{Shed: func(_ context.Context, e ShedEvent) { events = append(events, e) }}}))
	overloaded(t, th, false)
	_, err := th.AdmitLocal(context.Background(), Low)
	var shed *ShedError
	if !errors.Is(err, ErrShed) || !errors.As(err, &shed) || shed.Cause != CauseProcessor || !strings.Contains(err.Error(), "wait for a processor") {
		t.Fatalf("AdmitLocal: got error %v want one of CauseProcessor", err)
	}
	ran := false
	if ctx := WithPriority(context.Background(), Low); th.DoLocal(ctx, High, nothing) == nil {
		t.Error("DoLocal with Low in the context: got no error")
	}
	if err := th.DoLocal(context.Background(), Low, nothing, func(context.Context, error, bool) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("with a fallback: got error %v, fallback ran: %v", err, ran)
	}
	wantSame(t, "Do, for a call to another process", th.Do(context.Background(), Low, nothing), nil)
	s := th.Stats().Priorities[Low]
	wantSame(t, "shed", s.Shed.Count(CauseProcessor), uint64(3))
	wantSame(t, "window", s.Window.Shed, uint64(0))
	wantSame(t, "probability of the policy", s.Probability, 0.0)
	if len(events) < 3 || events[0].Cause != CauseProcessor || events[0].Probability < 0.9 || events[0].Shadow {
		t.Errorf("got events %v", events)
	}
}

// TestLocalShadow counts what would be shed, with the real outcome.
func TestLocalShadow(t *testing.T) {
	th := Must(New(Config{Name: "shop", Mode: ModeShadow}))
	overloaded(t, th, true)
	for range 10 {
		if err := th.DoLocal(context.Background(), Low, func(context.Context) error { return errNoProduct }); !errors.Is(err, errNoProduct) {
			t.Errorf("got error %v want %v", err, errNoProduct)
		}
	}
	s := th.Stats().Priorities[Low]
	wantSame(t, "shed", s.Shed.Sum(), uint64(0))
	wantSame(t, "shadow shed", s.ShadowShed.Cause(CauseProcessor).Outcome(Accepted), uint64(10))
	wantSame(t, "in flight", s.InFlight, int64(0))
	wantSame(t, "window", s.Window.Requests(), uint64(0))
}

// TestExempt counts calls that no decision is made for.
func TestExempt(t *testing.T) {
	th := Must(New(Config{Name: "shop"}))
	th.Exempt()
	th.Exempt()
	wantSame(t, "exempt", th.Stats().Exempt, uint64(2))
	wantSame(t, "admitted", th.Stats().Priorities[Medium].Admitted, uint64(0))
}

// TestProcessorWait sets it by Config, Tune, Override and Group.Tune.
func TestProcessorWait(t *testing.T) {
	counts := func(th *Throttle) bool { return th.local.Load() != nil }
	for _, c := range []Config{
		{Name: "off", ProcessorWait: -1}, {Name: "mode", Mode: ModeOff}, {Name: "simulated", Now: time.Now},
	} {
		if th := Must(New(c)); counts(th) || th.Stats().ProcessorWait != 0 {
			t.Errorf("%s: the calls are counted", c.Name)
		}
	}
	for _, wait := range []time.Duration{1, shortestProcessorWait - 1, longestProcessorWait + 1} {
		err := Config{Name: "shop", ProcessorWait: wait}.Validate()
		if err == nil || !strings.Contains(err.Error(), "ProcessorWait") || !strings.Contains(err.Error(), "1ms to 10s") {
			t.Errorf("%v: got error %v want one with the field and the range", wait, err)
		}
	}
	th := Must(New(Config{Name: "shop"}))
	first := th.local.Load()
	for _, step := range []struct {
		change Patch
		counts bool
	}{
		{Patch{ProcessorWait: new(Duration(-time.Second))}, false},
		{Patch{ProcessorWait: new(Duration(time.Second))}, true},
		{Patch{Mode: new(ModeOff)}, false},
	} {
		if err := th.Override(SourceFile, step.change); err != nil || counts(th) != step.counts {
			t.Errorf("got error %v, counts: %v want %v", err, counts(th), step.counts)
		}
	}
	if err := th.Override(SourceFile, Patch{}); err != nil || th.local.Load() != first {
		t.Errorf("after the override: got error %v and other counters", err)
	}
	group := Must(NewGroup(func(string) Config { return Config{Name: "shops"} }, GroupConfig{}))
	err := group.Tune(Patch{ProcessorWait: new(Duration(-1))})
	if err != nil || counts(Must(group.Get("a"))) {
		t.Errorf("Group.Tune: got error %v, or a member counts", err)
	}
}

// TestProcessorWait_tunedAtOnce: another change at the same time must not turn it on again.
func TestProcessorWait_tunedAtOnce(t *testing.T) {
	th := Must(New(Config{Name: "shop"}))
	for range sized(30_000, 5000) {
		_ = th.Tune(Patch{ProcessorWait: new(Duration(0))})
		var both sync.WaitGroup
		both.Go(func() { _ = th.Tune(Patch{ProcessorWait: new(Duration(-1))}) })
		both.Go(func() { _ = th.Tune(Patch{Ratio: new(3.0)}) })
		both.Wait()
		if th.local.Load() != nil {
			t.Fatal("it is off, and calls are counted")
		}
	}
}

// TestLocal_tooLate ends calls too late for their caller. While calls wait for a processor, the policy does
// not take them for rejections.
func TestLocal_tooLate(t *testing.T) {
	refused, marked := MarkRejected(errNoProduct), MarkRejected(context.DeadlineExceeded)
	ended := func(th *Throttle, err error) Outcome {
		t.Helper()
		var outcome Outcome
		call, admitErr := th.AdmitLocal(context.Background(), High)
		if admitErr != nil {
			t.Fatal(admitErr)
		}
		before := th.Stats().Priorities[High].Ended
		call.Done(err)
		after := th.Stats().Priorities[High].Ended
		for _, o := range []Outcome{Accepted, Rejected, Ignored} {
			if after.Outcome(o) > before.Outcome(o) {
				outcome = o
			}
		}
		return outcome
	}
	for _, tt := range []struct {
		name             string
		crowded, shadow  bool
		timeout, refusal Outcome
	}{
		{name: "calm", timeout: Rejected, refusal: Rejected},
		{name: "overloaded", crowded: true, timeout: Ignored, refusal: Rejected},
		{name: "nothing is shed", crowded: true, shadow: true, timeout: Rejected, refusal: Rejected},
	} {
		th := Must(New(Config{Name: "shop"}))
		if tt.crowded {
			overloaded(t, th, tt.shadow)
		}
		wantSame(t, tt.name+": a deadline", ended(th, context.DeadlineExceeded), tt.timeout)
		wantSame(t, tt.name+": a refusal", ended(th, refused), tt.refusal)
		wantSame(t, tt.name+": a marked deadline", ended(th, marked), tt.timeout)
	}
}
