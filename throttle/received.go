package throttle

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/feedback"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// ReceivedStats is what the backend said in its load reports during the last five seconds, see
// [Throttle.ReceiveLoad].
type ReceivedStats struct {
	Known      bool     // there were any
	Calm       bool     // hardly any of them said that the backend is overloaded
	Overloaded bool     // most of them said that
	Doubted    bool     // the backend rejects far fewer calls than it says, so they have no effect
	_          struct{} // keyed literals only
}

// String returns "unknown", "doubted", "overloaded", "calm", or "mixed" if the replicas of the backend differ.
func (h ReceivedStats) String() string {
	switch {
	case !h.Known:
		return "unknown"
	case h.Doubted:
		return "doubted"
	case h.Overloaded:
		return "overloaded"
	case h.Calm:
		return "calm"
	}
	return "mixed"
}

// ReceiveLoad records a load report that came with an answer of the backend. Call it before the outcome of the
// call is recorded. While a backend says that it sheds, the throttle sheds such calls itself, so that
// they do not reach the backend. The probability is the larger one of the policy's and this one, and the
// cause is [CauseTold]. It rises until the backend itself sheds about 5 % of what reaches it.
//
// A report counts for 4 to 5 s, up to 8 s if reports are rare, and less and less. The probability is at most
// 0.95. It is 0 if the backend says that it sheds, and rejects hardly any calls: see [ReceivedStats]. Other
// values that are out of range count as the nearest ones in range. The window does not count these sheds: the
// throttle cannot know how such calls end.
//
// The clients of packages httpthrottle, grpcthrottle and connectthrottle call it if their Listen allows
// that.
func (t *Throttle) ReceiveLoad(r LoadReport) {
	if !t.valid() {
		return
	}
	h := t.received.Load()
	if h == nil {
		h = t.beginToListen()
	}
	if !r.Overloaded && h.Calm() {
		return
	}
	now := t.elapsed()
	h.Add(r.Overloaded, &r.Shed, r.Answers, now)
	t.refreshReceived(h, now)
}

// beginToListen returns the state of what is received. Most throttles have none.
func (t *Throttle) beginToListen() *feedback.State {
	draw := rand.Float64
	if t.random != nil {
		draw = t.random
	}
	t.received.CompareAndSwap(nil, feedback.New(draw()))
	return t.received.Load()
}

// refreshReceived computes the decisions again if what was received has changed them.
func (t *Throttle) refreshReceived(h *feedback.State, now time.Duration) {
	if h.Active() && h.Due(now) {
		t.decisions.Refresh(now)
		t.reportPolicy(context.Background())
	}
}

// fadeReceived lets what was received fade, before a decision at now.
func (t *Throttle) fadeReceived(now time.Duration) {
	if h := t.received.Load(); h != nil {
		t.refreshReceived(h, now)
	}
}

// updateReceived updates what was received, in a refresh of the decisions.
func (t *Throttle) updateReceived(ever []window.Counts, m Mode) {
	h := t.received.Load()
	if h == nil {
		return
	}
	if m == ModeOff {
		h.Forget()
		return
	}
	var counts [MaxPriorities]feedback.Counts
	for p := range ever {
		counts[p] = feedback.Counts{Answers: ever[p].Accepted + ever[p].Rejected, Full: ever[p].Full}
	}
	h.Update(&counts, t.bucketAt(), m == ModeShadow)
}

// bucketAt returns when the open bucket of the window began.
func (t *Throttle) bucketAt() time.Duration { return t.window.Ends() - t.window.Width() }

// obey raises the estimates to what was received. If now is 0, it is the time of the last refresh.
func (t *Throttle) obey(estimates []estimate, now time.Duration) {
	h := t.received.Load()
	if h == nil {
		return
	}
	received := h.Probability(now)
	for p := range estimates {
		if e := &estimates[p]; received[p] > e.probability {
			e.probability, e.cause = min(received[p], decision.Largest), CauseTold
		}
	}
}

// countTold counts a call that is shed because the backend said so.
func (a *attempt) countTold() {
	if !a.shadow {
		a.throttle.counters[a.stripe].count(toldSheds, a.throttle.priorities, a.priority, Accepted, FaultNone)
	}
}

// receivedStats returns what the backend said in the last seconds, and the probabilities for it.
func (t *Throttle) receivedStats() (ReceivedStats, [MaxPriorities]float64) {
	h := t.received.Load()
	if h == nil {
		return ReceivedStats{}, [MaxPriorities]float64{}
	}
	now := t.elapsed()
	s := h.Summary(now)
	return ReceivedStats{Known: s.Known, Calm: s.Calm, Overloaded: s.Overloaded, Doubted: s.Doubted}, h.Probability(now)
}
