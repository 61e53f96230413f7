package throttle

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// A gate is what the next call of one priority meets: the decision, ready made. It packs the probability of shedding and
// a few facts about it into one word. Zero is an open gate: nothing is shed, and no passing of time can change that.
//
// A gate that is watched may change without an event, when an old bucket is forgotten, so its calls look at the
// clock first. An open gate becomes watched by the first refusal, and opens again when every suffix of the window has
// been proven harmless.
const (
	watched     = 1 << 0 // the clock must be read before the gate is believed
	answering   = 1 << 1 // refusals above concern this priority: always with Tiered, with SRE if the backend rejected some of it
	causedAbove = 1 << 2 // mostly by what was rejected above
	onlyShadow  = 1 << 3 // tell, but let through
	oddsShift   = 4      // above it: the probability in units of 2^-53
	oddsUnits   = 1 << 53

	// eventsPerSetting is how many events a watched gate may be old, if not by a bucket.
	eventsPerSetting = 16
)

// gates holds a throttle's gates and what is needed to set them.
type gates struct {
	words [MaxPriorities]atomic.Uint64
	until atomic.Int64 // the end of the bucket in which they were set: they must not be believed longer
	seed  uint64       // of the draws
	_     [48]byte
	news  atomic.Uint64 // outcomes and sheds at watched gates
	_     [56]byte

	setting sync.Mutex // held by the one who sets the gates
	*desk              // which it guards
}

// desk is what lies at hand while the gates are set.
type desk struct {
	before   []uint64 // the gates as they were
	reading  window.Reading
	scratch  []window.Counts
	verdicts []verdict
	proof    proof
}

func newGates(n int) gates {
	return gates{seed: rand.Uint64(), desk: newDesk(n)}
}

func newDesk(n int) *desk {
	return &desk{
		before:   make([]uint64, n),
		reading:  window.Reading{Span: make([]window.Counts, n), Ever: make([]window.Counts, n)},
		scratch:  make([]window.Counts, n),
		verdicts: make([]verdict, n),
		proof:    newProof(n),
	}
}

// bind makes the gates ready for Tiered: refusals above concern each priority from the beginning, and what is recent matters.
func (g *gates) bind() {
	g.reading.Recent = make([]window.Counts, len(g.reading.Span))
	for p := range g.reading.Span {
		g.words[p].Store(answering)
	}
}

// oddsOf is the probability that a gate holds.
func oddsOf(gate uint64) float64 { return float64(gate>>oddsShift) / oddsUnits }

// causeOf is the cause that a gate holds.
func causeOf(gate uint64) Cause {
	if gate&causedAbove != 0 {
		return CauseAbove
	}
	return CauseOwn
}

// weigh decides about a call at a watched gate. It returns the gate that it decided at.
func (t *Throttle) weigh(a *attempt, now time.Duration) (gate uint64, refuse bool) {
	t.keepUp(now)
	gate = t.gates.words[a.priority].Load()
	odds := gate >> oddsShift
	return gate, odds > 0 && t.draw(a) < odds
}

// draw returns a random number below oddsUnits. Between two draws on one stripe a call was admitted or something was
// news, so that mixing the bits of these counters (by the finalizer of SplitMix64) draws as well as a generator
// with a state of its own, and costs less.
func (t *Throttle) draw(a *attempt) uint64 {
	if t.rand != nil {
		return drawFrom(t.rand())
	}
	z := t.gates.seed + t.gates.news.Load()*0x9E3779B97F4A7C15
	z += (a.row[started].Load()<<8 | uint64(a.stripe)) * 0xD1342543DE82EF95
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return (z ^ z>>31) >> 11
}

// drawFrom makes a draw of a number that should be in [0, 1).
func drawFrom(r float64) uint64 {
	if r > 0 {
		return uint64(min(r, almostOne) * oddsUnits)
	}
	return 0
}

// keepUp closes the window's bucket if it has ended, and sets the gates anew. It does not ask the window whether that is
// due, because reading statistics moves the window on without setting the gates.
func (t *Throttle) keepUp(now time.Duration) {
	if t.window.Over(time.Duration(t.gates.until.Load()), now) {
		t.catchUp(now)
	}
}

func (t *Throttle) catchUp(now time.Duration) {
	t.window.Roll(now)
	t.trySetGates()
}

// noteNews sets the gates after every so many outcomes and sheds, each of which has been counted.
func (t *Throttle) noteNews() {
	if t.gates.news.Add(1)%eventsPerSetting == 0 {
		t.trySetGates()
	}
}

// noteRefusal watches the gates that a rejected or shed call of priority p may move. The call must have been counted
// before: whoever opens a gate looks at the counters again after it.
func (t *Throttle) noteRefusal(p Priority) {
	for q := int(p); q < t.priorities; q++ {
		gate := t.gates.words[q].Load()
		if gate&watched == 0 && (q == int(p) || gate&answering != 0) {
			t.gates.words[q].Or(watched)
		}
	}
}

// trySetGates sets the gates, unless somebody is at it.
func (t *Throttle) trySetGates() {
	if t.gates.setting.TryLock() {
		t.setGates()
		t.gates.setting.Unlock()
	}
}

// setGates sets every gate to what the policy says of the window as it was last rolled. The caller holds the lock.
func (t *Throttle) setGates() {
	g := &t.gates
	tuning := t.tuning.Load()
	for p := range g.before {
		g.before[p] = g.words[p].Load()
	}
	until := t.window.Ends()
	t.window.Read(g.reading)
	if tuning.Mode == ModeOff {
		clear(g.verdicts) // nothing is decided: every gate is open
	} else {
		t.decide(g.reading, tuning, g.verdicts)
	}
	harmless := t.harmless(tuning.Ratio)
	opening := false
	for p := range g.verdicts {
		gate := g.gateFor(p, t.policy, tuning.Mode)
		switch {
		case harmless&(1<<p) == 0:
			g.words[p].Store(gate | watched)
		case g.before[p]&watched == 0:
			// Open before, and open now: leave it to whoever has watched it meanwhile.
		default:
			g.words[p].Store(gate | watched)
			opening = true
		}
	}
	if opening {
		t.openGates(harmless)
	}
	g.until.Store(int64(until))
}

// openGates opens watched gates that have been proven harmless, unless something was refused meanwhile: it may have been
// missing from the proof. It sets the gates first and looks at the counters after that, while a refusal is
// counted first and watches the gates after that, so that one of the two notices the other.
func (t *Throttle) openGates(harmless uint32) {
	g := &t.gates
	for p := range g.reading.Span {
		if harmless&(1<<p) != 0 {
			g.words[p].And(^uint64(watched))
		}
	}
	t.window.Ever(g.scratch)
	for p := range g.reading.Span {
		if g.scratch[p].Rejected > g.reading.Ever[p].Rejected || g.scratch[p].Shed > g.reading.Ever[p].Shed {
			for q := range g.reading.Span {
				g.words[q].Or(watched)
			}
			return
		}
	}
}

// gateFor packs the verdict on p into a gate, not watched.
func (g *gates) gateFor(p int, policy Policy, mode Mode) uint64 {
	v := g.verdicts[p]
	gate := uint64(v.probability*oddsUnits) << oddsShift
	if mode == ModeShadow {
		gate |= onlyShadow
	}
	if policy == Tiered || g.reading.Span[p].Rejected > 0 {
		gate |= answering
	}
	if v.cause == CauseAbove {
		gate |= causedAbove
	}
	return gate
}
