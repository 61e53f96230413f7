package throttle

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/processor"
)

// Default and range of Config.ProcessorWait.
const (
	defaultProcessorWait  = 30 * time.Millisecond
	shortestProcessorWait = time.Millisecond
	longestProcessorWait  = 10 * time.Second
)

// AdmitLocal is [Throttle.Admit] for work that this process does itself: a request that it serves, a
// message that it consumes. It also sheds calls while requests wait too long for a processor, see
// [Config.ProcessorWait]. Call it before the work begins.
func (t *Throttle) AdmitLocal(ctx context.Context, p Priority) (Call, error) {
	t.beginToServe()
	return t.admit(ctx, p, t.localDemand())
}

// DoLocal is [Throttle.Do] for work that this process does itself, see [Throttle.AdmitLocal].
func (t *Throttle) DoLocal(ctx context.Context, p Priority, fn func(context.Context) error, fallback ...Fallback) error {
	// As Do. A function that both call would have nine arguments, and cost each call 3 % more.
	ctx, err := checkArgs(ctx, t, fn != nil)
	if err != nil {
		return err
	}
	t.beginToServe()
	var a attempt
	local := t.localDemand()
	err = a.begin(ctx, t, p, local)
	defer a.endAbandoned()
	if a.stage == running {
		a.openLocal(local)
		if t.hasCallHooks {
			a.callStarted()
		}
		err = a.recordReturn(fn(a.ctx))
	}
	if err != nil && len(fallback) > 0 {
		err = a.fallBack(err, fallback[0])
	}
	a.finish(err)
	return err
}

// beginToServe notes that the throttle serves calls: with Tiered it learns Slow then. See Config.Slow.
func (t *Throttle) beginToServe() {
	if t.valid() && !t.serves.Load() {
		t.serves.Store(true)
		t.watchSlow()
	}
}

// localDemand returns what counts the calls that this process serves, or nil.
func (t *Throttle) localDemand() *processor.Demand {
	if t == nil {
		return nil
	}
	return t.local.Load()
}

// YieldProcessor lets other goroutines go first while calls wait for a processor. A server calls it before
// [Throttle.AdmitLocal] if its requests share a connection, as those of HTTP/2 do. The goroutines that
// read requests and write answers need little time, but each turn of theirs would wait for the work of
// all calls before. Then few answers are written in time. The servers of packages httpthrottle,
// grpcthrottle and connectthrottle call it.
func YieldProcessor() {
	if p := processor.Shared(); p != nil {
		p.Yield()
	}
}

// Exempt counts a call that is served whatever the throttle decides, such as a health check. It has no
// other effect. Stats.Exempt is the number of these calls.
func (t *Throttle) Exempt() {
	if t.valid() {
		t.exempt.Add(1)
	}
}

// countLocal selects where the calls that this process serves are counted, by the settings. If they change
// meanwhile, it does so again: another goroutine may have been faster.
func (t *Throttle) countLocal() {
	for u := (*Tuning)(nil); u != t.tuning.Load(); {
		u = t.tuning.Load()
		t.local.Store(t.demandFor(u))
	}
}

// demandFor returns what counts the calls with settings u, or nil.
func (t *Throttle) demandFor(u *Tuning) *processor.Demand {
	aim := u.processorWait()
	if aim == 0 || u.Mode == ModeOff || t.now != nil {
		return nil
	}
	if process := processor.Shared(); process != nil {
		return process.Demand(aim, u.Mode == ModeShadow)
	}
	return nil
}

// processorWait returns the wait that is aimed at, or 0 if it is off.
func (u *Tuning) processorWait() time.Duration {
	if u.ProcessorWait == 0 {
		return defaultProcessorWait
	}
	return max(0, u.ProcessorWait)
}

// enterProcess counts a call that this process is to serve. It returns the error of a call that is shed
// because requests wait for a processor. The window does not count that: it says nothing about how
// calls end.
func (a *attempt) enterProcess(local *processor.Demand) error {
	drop := local.Enter(int(a.stripe), int(a.priority))
	if drop == 0 {
		return nil
	}
	t, random := a.throttle, rand.Uint64()
	d := decision.Pack(min(drop, decision.Largest), causedProcessor)
	if a.asksTenant(d.Sheds(random >> 11)) {
		d = a.ofTenant(d, t.priorities+int(a.priority), t.elapsed(), random)
	}
	if !d.Sheds(random >> 11) {
		return nil
	}
	a.decision = d
	a.shadow = local.Shadow()
	if !a.shadow {
		a.throttle.counters[a.stripe].count(localSheds, a.throttle.priorities, a.priority, Accepted, FaultNone)
	}
	return a.shed(CauseProcessor)
}

// openLocal counts a call as open in this process until its end.
func (a *attempt) openLocal(local *processor.Demand) {
	if a.local = local; local != nil && !local.Calm() {
		a.open = local.Begin(int(a.stripe))
	}
}

// waitedForProcessor reports whether a call took too long for its caller while calls wait for a processor.
// Calls are shed for that wait already. If the policy took such a call for a rejection, it would shed for
// it a second time, and for long.
func (a *attempt) waitedForProcessor(f Fault) bool {
	return (f == FaultTimeout || f == FaultCanceled) && a.local != nil && !a.local.Shadow() && a.local.Overloaded()
}
