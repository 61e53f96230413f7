package throttle

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// A packed decision is the result of the policy for one priority in one word: the probability of
// shedding, and flags. Zero means: nothing is shed, and time alone cannot change that.
//
// A decision with needsClock may change without an event, when an old bucket leaves the window. Its
// calls read the clock first. The first rejection sets needsClock. It is cleared when every suffix
// of the window is proven harmless (see proof).
const (
	needsClock       = 1 << 0 // read the clock before using the decision
	affectedByAbove  = 1 << 1 // rejections of higher priorities affect this one: always in Tiered; in SRE if the backend rejected it too
	causedAbove      = 1 << 2 // CauseAbove
	onlyShadow       = 1 << 3 // ModeShadow: call the hooks, and let the call through
	probabilityShift = 4      // the other bits: the probability in units of 2^-53
	probabilityUnits = 1 << 53

	// eventsPerRefresh is the largest age of a decision with needsClock, in events.
	eventsPerRefresh = 16
)

// decisions caches the decision for each priority, and what is needed to refresh it.
type decisions struct {
	packed     [MaxPriorities]atomic.Uint64
	validUntil atomic.Int64 // the end of the bucket of the last refresh
	seed       uint64       // of draw
	_          [48]byte
	events     atomic.Uint64 // outcomes and sheds of decisions with needsClock
	_          [56]byte

	refreshing      sync.Mutex
	*refreshBuffers // guarded by refreshing
}

// refreshBuffers is the memory that a refresh uses.
type refreshBuffers struct {
	before    []uint64 // the decisions before the refresh
	reading   window.Reading
	scratch   []window.Counts
	estimates []estimate
	proof     proof
}

func newDecisions(n int) decisions {
	return decisions{seed: rand.Uint64(), refreshBuffers: newRefreshBuffers(n)}
}

func newRefreshBuffers(n int) *refreshBuffers {
	return &refreshBuffers{
		before:    make([]uint64, n),
		reading:   window.Reading{Span: make([]window.Counts, n), Ever: make([]window.Counts, n)},
		scratch:   make([]window.Counts, n),
		estimates: make([]estimate, n),
		proof:     newProof(n),
	}
}

// initTiered prepares the cache for Tiered: rejections above affect every priority, and the recent
// part of the window is needed.
func (d *decisions) initTiered() {
	d.reading.Recent = make([]window.Counts, len(d.reading.Span))
	for p := range d.reading.Span {
		d.packed[p].Store(affectedByAbove)
	}
}

// probabilityOf returns the probability in a packed decision.
func probabilityOf(decision uint64) float64 {
	return float64(decision>>probabilityShift) / probabilityUnits
}

// causeOf returns the cause in a packed decision.
func causeOf(decision uint64) Cause {
	if decision&causedAbove != 0 {
		return CauseAbove
	}
	return CauseOwn
}

// sample decides about a call whose decision has needsClock. It returns the decision that it used.
func (t *Throttle) sample(a *attempt, now time.Duration) (decision uint64, shed bool) {
	t.rollWindow(now)
	decision = t.decisions.packed[a.priority].Load()
	probability := decision >> probabilityShift
	return decision, probability > 0 && t.draw(a) < probability
}

// draw returns a random number below probabilityUnits. Between two draws on one stripe a call is
// admitted or an event is counted. So a hash of these counters (the finalizer of SplitMix64) is as
// random as a generator with a state of its own, and costs less.
func (t *Throttle) draw(a *attempt) uint64 {
	if t.rand != nil {
		return drawFrom(t.rand())
	}
	z := t.decisions.seed + t.decisions.events.Load()*0x9E3779B97F4A7C15
	z += (a.row[started].Load()<<8 | uint64(a.stripe)) * 0xD1342543DE82EF95
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return (z ^ z>>31) >> 11
}

// drawFrom converts a random number, which should be in [0, 1).
func drawFrom(r float64) uint64 {
	if r > 0 {
		return uint64(min(r, almostOne) * probabilityUnits)
	}
	return 0
}

// rollWindow closes the current bucket of the window if its time is over, and refreshes the
// decisions. It uses the time of the last refresh, because reading statistics moves the window
// without a refresh.
func (t *Throttle) rollWindow(now time.Duration) {
	if t.window.Over(time.Duration(t.decisions.validUntil.Load()), now) {
		t.rollAndRefresh(now)
	}
}

// rollAndRefresh moves the window to now and refreshes the decisions.
func (t *Throttle) rollAndRefresh(now time.Duration) {
	t.window.Roll(now)
	t.tryRefresh()
}

// countEvent refreshes the decisions after every eventsPerRefresh outcomes and sheds. The caller
// has counted the event in the window.
func (t *Throttle) countEvent() {
	if t.decisions.events.Add(1)%eventsPerRefresh == 0 {
		t.tryRefresh()
	}
}

// noteRejection sets needsClock in the decisions that a rejected or shed call of priority p may
// change. The caller must have counted the call before: clearNeedsClock reads the counters after it
// clears the flag.
func (t *Throttle) noteRejection(p Priority) {
	for q := int(p); q < t.priorities; q++ {
		decision := t.decisions.packed[q].Load()
		if decision&needsClock == 0 && (q == int(p) || decision&affectedByAbove != 0) {
			t.decisions.packed[q].Or(needsClock)
		}
	}
}

// tryRefresh refreshes the decisions, unless another goroutine does.
func (t *Throttle) tryRefresh() {
	if t.decisions.refreshing.TryLock() {
		t.refresh()
		t.decisions.refreshing.Unlock()
	}
}

// refresh computes every decision from the window as it was last rolled. The caller holds the lock.
func (t *Throttle) refresh() {
	d := &t.decisions
	tuning := t.tuning.Load()
	for p := range d.before {
		d.before[p] = d.packed[p].Load()
	}
	until := t.window.Ends()
	t.window.Read(d.reading)
	if tuning.Mode == ModeOff {
		clear(d.estimates) // probability 0 for every priority
	} else {
		t.decide(d.reading, tuning, d.estimates)
	}
	harmless := t.harmless(tuning.Ratio)
	clearing := false
	for p := range d.estimates {
		decision := d.pack(p, t.policy, tuning.Mode)
		switch {
		case harmless&(1<<p) == 0:
			d.packed[p].Store(decision | needsClock)
		case d.before[p]&needsClock == 0:
			// Zero before and after: keep a needsClock that was set meanwhile.
		default:
			d.packed[p].Store(decision | needsClock)
			clearing = true
		}
	}
	if clearing {
		t.clearNeedsClock(harmless)
	}
	d.validUntil.Store(int64(until))
}

// clearNeedsClock clears needsClock in decisions that are proven harmless. It sets the flag again
// if a call was rejected meanwhile, which the proof may have missed. It clears the flag first and
// reads the counters second, while noteRejection runs after counting: so one of the two notices the
// other.
func (t *Throttle) clearNeedsClock(harmless uint32) {
	d := &t.decisions
	for p := range d.reading.Span {
		if harmless&(1<<p) != 0 {
			d.packed[p].And(^uint64(needsClock))
		}
	}
	t.window.Ever(d.scratch)
	for p := range d.reading.Span {
		if d.scratch[p].Rejected > d.reading.Ever[p].Rejected || d.scratch[p].Shed > d.reading.Ever[p].Shed {
			for q := range d.reading.Span {
				d.packed[q].Or(needsClock)
			}
			return
		}
	}
}

// pack packs the estimate for p into a decision without needsClock.
func (d *decisions) pack(p int, policy Policy, mode Mode) uint64 {
	v := d.estimates[p]
	decision := uint64(v.probability*probabilityUnits) << probabilityShift
	if mode == ModeShadow {
		decision |= onlyShadow
	}
	if policy == Tiered || d.reading.Span[p].Rejected > 0 {
		decision |= affectedByAbove
	}
	if v.cause == CauseAbove {
		decision |= causedAbove
	}
	return decision
}
