package throttle

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/late"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	shortestSlow = time.Millisecond
	longestSlow  = time.Hour
	// mostEarlier bounds the memory for calls that never end.
	mostEarlier = 16
)

// watch finds the late calls of a throttle, and learns from the durations of calls. Tuning.Slow and what was
// learned replace it: calls that began before belong to the watch before, whose open calls do not become late any more.
type watch struct {
	slow    time.Duration
	ring    *late.Ring   // nil if slow is 0: it is not learned yet
	before  *late.Ring   // with the calls that began before slow was learned again, or nil
	earlier []*late.Ring // all of these that still have calls, for statistics
	gate    *gate
	learner *learner // nil with Tuning.Slow
	totals  *slowCounters
}

// slowCounters are totals by priority. They are shared, because they change rarely.
type slowCounters struct {
	late, booked, lost, refused, wouldRefuse [MaxPriorities]atomic.Uint64

	bookedUntil atomic.Int64 // the window has booked calls until then; 0 before the first
}

// watchSlow replaces the watch if Tuning.Slow or SlowAuto has changed, or if the throttle begins to serve calls. It
// also stores CanceledAfter.
func (t *Throttle) watchSlow() {
	t.watching.Lock()
	defer t.watching.Unlock()
	u, old := t.tuning.Load(), t.watch.Load()
	t.canceledAfter.Store(int64(max(0, u.CanceledAfter)))
	learns := u.Slow == 0 && (u.SlowAuto || t.serves.Load() && t.policy == Tiered)
	switch {
	case u.Slow <= 0 && !learns:
		t.watch.Store(nil)
	case old != nil && learns == (old.learner != nil) && (learns || old.slow == u.Slow):
	default:
		w := t.newWatch(u.Slow)
		if learns {
			w.learner = newLearner(t.elapsed(), t.totals(), t.window.Stripes())
		}
		t.watch.Store(w)
	}
}

// relearn replaces a watch by one with the slow that it has learned, unless they hardly differ.
func (t *Throttle) relearn(w *watch) {
	slow := time.Duration(w.learner.learned.Load())
	if w.slow > 0 && slow < w.slow*5/4 && slow > w.slow*4/5 {
		return
	}
	t.watching.Lock()
	defer t.watching.Unlock()
	if t.watch.Load() != w {
		return
	}
	next := *w
	next.slow, next.before, next.ring = slow, w.ring, late.New(slow, t.priorities, t.window.Stripes())
	if next.earlier = slices.DeleteFunc(slices.Clone(w.earlier), isEmpty); w.ring != nil {
		next.earlier = append(next.earlier, w.ring)
	}
	next.earlier = next.earlier[max(0, len(next.earlier)-mostEarlier):]
	t.watch.Store(&next)
}

func isEmpty(r *late.Ring) bool { return r.Open()+r.WrittenOff() == 0 }

// newWatch returns a watch without a learner. Slow may be 0.
func (t *Throttle) newWatch(slow time.Duration) *watch {
	t.slowTotals.CompareAndSwap(nil, &slowCounters{})
	w := &watch{slow: slow, totals: t.slowTotals.Load(), gate: &gate{}}
	if slow > 0 {
		w.ring = late.New(slow, t.priorities, t.window.Stripes())
	}
	w.gate.open(t.elapsed(), t.accepted())
	return w
}

// findLate finds late calls, if it is time to. It books some of them as rejected, and computes the limits
// of the gate.
func (t *Throttle) findLate(w *watch, now time.Duration) {
	f, ok := w.ring.Advance(now)
	if !ok {
		return
	}
	accepted := t.accepted()
	w.gate.update(now, w, accepted[:t.priorities], &f)
	books, booked := w.books(), false
	if !books {
		w.ring.NotBooked(&f)
	}
	for p := range t.priorities {
		if f.Late[p] == 0 && f.Lost[p] == 0 {
			continue
		}
		w.totals.late[p].Add(uint64(f.Late[p]))
		w.totals.lost[p].Add(uint64(f.Lost[p]))
		if !books {
			continue
		}
		w.totals.booked[p].Add(uint64(f.Booked[p]))
		t.window.Roll(now)
		t.window.Row(0, p)[saidFull].Add(uint64(f.Booked[p]))
		booked = booked || f.Booked[p] > 0
	}
	if booked {
		w.totals.bookedUntil.Store(int64(t.window.Ends() + t.span))
		t.decisions.NoteRefused()
		t.decisions.Refresh(now)
	}
}

// books reports whether some late calls count as rejected. If Slow is learned, they may be slow for a good reason,
// unless they wait in a queue.
func (w *watch) books() bool { return w.learner == nil || w.gate.full.Load() }

// hasBooked reports whether the window has late calls that count as rejected.
func (t *Throttle) hasBooked() bool {
	totals := t.slowTotals.Load()
	if totals == nil {
		return false
	}
	until := time.Duration(totals.bookedUntil.Load())
	return until != 0 && !t.window.Over(until, t.bucketAt())
}

// accepted returns the totals of the calls that the backend has accepted.
func (t *Throttle) accepted() (sums [MaxPriorities]window.Counts) {
	t.window.Ever(sums[:t.priorities])
	return sums
}

func (t *Throttle) allAccepted() uint64 {
	accepted := t.accepted()
	return window.Sum(accepted[:t.priorities]).Accepted
}

// openCalls returns the calls that are open and not written off.
func (w *watch) openCalls() (n int64) {
	for _, ring := range []*late.Ring{w.ring, w.before} {
		if ring != nil {
			n += ring.Open()
		}
	}
	if w.learner != nil {
		n += w.learner.early.Load()
	}
	return n
}

// totals returns the totals of all calls, with those that the gate has refused as shed.
func (t *Throttle) totals() window.Counts {
	accepted := t.accepted()
	sum := window.Sum(accepted[:])
	for p := range t.priorities {
		refused := t.slowTotals.Load().refused[p].Load()
		sum.Shed, sum.Rejected = sum.Shed+refused, sum.Rejected-refused
	}
	return sum
}

// enter adds the call to the open calls. It returns the error of a call that the gate refuses.
func (a *attempt) enter(w *watch) error {
	t, now := a.throttle, a.throttle.elapsed()
	if w.ring == nil {
		w.learner.early.Add(1)
		a.watch, a.began, a.timed = w, now, true
		return nil
	}
	if w.ring.Due(now) {
		t.findLate(w, now)
		t.reportPolicy(a.ctx)
	}
	if w.gate.refuses(a.priority, w.ring, now) {
		if err := a.refuse(w, now); err != nil || a.shadow {
			return err
		}
	}
	a.watch, a.began, a.timed = w, w.ring.Begin(now, int(a.stripe), int(a.priority)), true
	return nil
}

// refuse counts a call that the gate refuses as a rejection of its priority, so that the policy chooses
// which calls are shed from then on.
func (a *attempt) refuse(w *watch, now time.Duration) error {
	t, u := a.throttle, a.throttle.tuning.Load()
	switch {
	case u.Mode == ModeOff || u.SlowGate == ModeOff:
		return nil
	case u.SlowGate == ModeShadow:
		w.totals.wouldRefuse[a.priority].Add(1)
		return nil
	}
	a.decision, a.shadow = a.decision.With(causedLimit), u.Mode == ModeShadow
	if t.decisions.Due(now) {
		t.decisions.Roll(now)
	}
	a.row[saidFull].Add(1)
	t.decisions.NoteRejected(int(a.stripe))
	if !a.shadow {
		w.totals.refused[a.priority].Add(1)
	}
	t.reportPolicy(a.ctx)
	return a.shed(causeOf(a.decision))
}

// leave removes the call from the open calls. D is how long it has had no answer.
func (a *attempt) leave(now, d time.Duration, accepted bool) {
	w := a.watch
	if w.learner != nil {
		a.teach(now, d, accepted)
	}
	if w.ring == nil {
		w.learner.early.Add(-1)
		return
	}
	if w.ring.Due(now) && a.throttle.watch.Load() == w { // else Tune has replaced it
		a.throttle.findLate(w, now)
	}
	a.booked = w.ring.End(a.began, int(a.stripe), int(a.priority))
}

// respond removes the call from the open calls before its outcome is known. It calls no hook, because the
// end of the call may wait for it.
func (a *attempt) respond() {
	if a.watch == nil {
		return
	}
	now := a.throttle.elapsed()
	a.leave(now, max(0, now-a.began), true)
	a.watch = nil
}

// look finds late calls for a reader of statistics: no call may have come for some time.
func (t *Throttle) look() (w *watch, now time.Duration) {
	if w = t.watch.Load(); w != nil && w.ring != nil {
		now = t.elapsed()
		t.findLate(w, now)
	}
	return w, now
}

func (w *watch) state(now time.Duration, gate Mode) SlowStats {
	s := SlowStats{Slow: w.slow, Gate: gate}
	if w.learner != nil {
		s.Auto, s.Learned, s.Full, s.Open = true, w.slow, w.gate.full.Load(), w.learner.early.Load()
	}
	for _, ring := range append(slices.Clone(w.earlier), w.ring) {
		if ring != nil {
			s.Open += ring.Open()
			s.WrittenOff += ring.WrittenOff()
			s.Oldest = max(s.Oldest, ring.Oldest(now))
		}
	}
	if w.ring == nil {
		return s
	}
	s.Closed = gate != ModeOff && w.gate.isClosed(MaxPriorities)
	return s
}
