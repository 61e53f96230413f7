package processor

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

const (
	// idleTime is how long no call may come before the timer stops.
	idleTime = time.Second
	// earliest is a time before the first use of this package: a clock that shows less is that of a
	// bubble of testing/synctest. There nothing waits for a processor, and no timer may be left.
	earliest = 1_700_000_000 // Unix time
)

// The states of a Process.
const (
	stopped    uint32 = iota // no timer runs
	calm                     // hardly any goroutine waits for a processor, and nothing is shed
	crowded                  // goroutines wait for a processor
	overloaded               // they wait for longer than the aim, or calls are shed for it
)

// Process decides about the calls that this process serves. While calls come, a timer reads the
// scheduler every 10 ms. All methods are safe for concurrent use.
type Process struct {
	drops  [MaxPriorities]atomic.Uint64 // probabilities, as bits
	share  atomic.Uint64                // of the demand that is shed, as bits
	state  atomic.Uint32                // stopped, calm, crowded or overloaded
	last   atomic.Int64                 // time of the last tick
	cohort atomic.Uint32                // the number of the present cohort
	_      [64]byte

	base  atomic.Pointer[time.Time] // of last; set at the first call outside of a bubble
	timer *time.Timer               // the goroutine that begins or ends stopped uses it
	read  func(waited float64) (runnable, processors int, turns float64)

	mu sync.Mutex
	// The fields below are guarded by mu.
	demands    []weak.Pointer[Demand] // those that no throttle and no call has are forgotten
	controller Controller
	reading    Reading
	calledAt   time.Duration // when the last call came
}

// State is the state of a Process.
type State struct {
	Wait       time.Duration // of a goroutine that becomes runnable, for a processor
	Aim        time.Duration // the wait that is held
	Floor      time.Duration // the part of Wait that is not due to calls
	Runnable   int           // goroutines that wait for a processor
	Processors int
	Share      float64                // of the demand that is shed
	Drops      [MaxPriorities]float64 // the same by priority
}

// New returns a process that read describes.
func New(read func(waited float64) (runnable, processors int, turns float64)) *Process {
	return &Process{read: read}
}

// Demand returns the counters for calls with a setting. Throttles with the same one share them.
func (p *Process) Demand(aim time.Duration, shadow bool) *Demand {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.inUse {
		if d.aim == aim && d.shadow == shadow {
			return d
		}
	}
	d := &Demand{process: p, aim: aim, shadow: shadow, calledAt: math.MinInt64 / 2}
	p.demands = append(slices.DeleteFunc(p.demands, isGone), weak.Make(d))
	return d
}

func isGone(d weak.Pointer[Demand]) bool { return d.Value() == nil }

// inUse yields the counters that a throttle or a call has.
func (p *Process) inUse(yield func(*Demand) bool) {
	for i := range p.demands {
		if d := p.demands[i].Value(); d != nil && !yield(d) {
			return
		}
	}
}

// State returns the present state.
func (p *Process) State() State {
	if p.state.Load() != stopped {
		p.wake()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.controller
	s := State{Aim: seconds(c.aim), Floor: seconds(c.background.floor), Runnable: p.reading.Runnable, Processors: p.reading.Processors}
	if p.state.Load() != stopped {
		s.Wait, s.Share, s.Drops = seconds(c.wait), c.Share(), c.mix.drop
	}
	return s
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Yield lets others go first, if calls wait for a processor.
func (p *Process) Yield() {
	if p.state.Load() >= crowded {
		runtime.Gosched()
	}
}

// look returns the probability with which a call is to be shed, after a tick if it is time for one.
func (p *Process) look(priority int) float64 {
	p.wake()
	if bits := p.drops[priority].Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return 0
}

// wake starts the timer if it does not run. If the timer is late, it does a tick in its place: the goroutine
// of the timer waits for a processor like all others, for seconds if their turns are long.
func (p *Process) wake() {
	now := time.Now()
	if now.Unix() < earliest {
		return
	}
	if p.state.Load() == stopped && p.state.CompareAndSwap(stopped, calm) {
		p.start(now)
		return
	}
	if base := p.base.Load(); base != nil && now.Sub(*base)-time.Duration(p.last.Load()) > 2*tick {
		p.tick(now.Sub(*base))
	}
}

// start starts the timer.
func (p *Process) start(now time.Time) {
	if p.base.Load() == nil {
		p.base.Store(&now)
		p.timer = time.AfterFunc(math.MaxInt64, p.onTimer) // which uses p.timer
	}
	p.timer.Reset(tick)
}

// onTimer does a tick. The timer stops if no call has come for some time.
func (p *Process) onTimer() {
	if p.tick(time.Since(*p.base.Load())) {
		p.timer.Reset(tick)
		return
	}
	p.state.Store(stopped)
}

// tick reads the scheduler and the demand, and computes the probabilities. It reports whether calls
// come.
func (p *Process) tick(at time.Duration) bool {
	if !p.mu.TryLock() {
		return true // another goroutine does it
	}
	defer p.mu.Unlock()
	elapsed := at - time.Duration(p.last.Load())
	if elapsed < tick/2 {
		return true
	}
	p.last.Store(int64(at))
	r := &p.reading
	r.Elapsed = elapsed
	r.Runnable, r.Processors, r.Turns = p.read(p.controller.shortWait())
	p.count(at)
	p.advance(at)
	p.controller.Update(r)
	called := at-p.calledAt <= idleTime
	if !called {
		p.controller = Controller{}
	}
	if before, state := p.state.Load(), p.controller.state(r); before != stopped && before != state {
		p.state.CompareAndSwap(before, state)
	}
	if bits := math.Float64bits(p.controller.said()); bits != p.share.Load() {
		p.share.Store(bits)
	}
	for i, drop := range p.controller.mix.drop {
		if bits := math.Float64bits(drop); bits != p.drops[i].Load() {
			p.drops[i].Store(bits)
		}
	}
	return called
}

// count adds up the calls since the last tick. Calls of ModeShadow count only if there are no others:
// they are not shed, so they must change neither the mix nor the aim.
func (p *Process) count(at time.Duration) {
	r := &p.reading
	r.Demand, r.Open, r.Aim, r.Shadow = [MaxPriorities]uint64{}, 0, 0, true
	for d := range p.inUse {
		if d.refresh(at) {
			p.calledAt = at
		}
		r.Shadow = r.Shadow && (d.shadow || !d.used(at))
	}
	for d := range p.inUse {
		if d.shadow != r.Shadow || !d.used(at) {
			continue
		}
		if r.Aim == 0 || d.aim < r.Aim {
			r.Aim = d.aim
		}
		r.Open += d.open()
		for i, n := range d.fresh {
			r.Demand[i] += uint64(n)
		}
	}
}

// advance begins new cohorts of calls if it is time to.
func (p *Process) advance(at time.Duration) {
	now := 1 + uint32(at/cohortLength) // 0 is no cohort
	for n := max(p.cohort.Load(), now-min(now, cohorts)); n < now; {
		n++
		for d := range p.inUse {
			d.reuse(n)
		}
		p.cohort.Store(n)
	}
}
