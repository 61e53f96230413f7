// Package feedback computes what a client sheds because servers say that they shed.
//
// A server that sheds the share s of the calls that reach it says so with each answer. If its clients
// shed some calls before, fewer reach it, and s falls: a control loop, with a delay. The client keeps a
// level x per priority, and sheds 1-exp(-x) of its calls. For an offered load of D times the capacity:
//
//	the server admits everything if exp(-x)*D <= 1, and sheds y = ln(D) - x otherwise, with s = 1-exp(-y)
//	dx/dt = (y - aim) / settle
//
// Why this form:
//
//   - If clients shed what the server says, x = y, they take over only the square root of the overload: at
//     10 times the capacity the server still gets 3.2 times. The integral takes over all of it but the
//     aim, so that the server sheds about 5 %.
//   - In logarithms the loop is linear: it settles in the same time at 2 and at 20 times the capacity.
//   - With a delay d, such an integral settles without oscillation if settle > e*d. For a d of up to
//     0.6 s, which includes the time between two updates, that is 1.6 s.
//   - y is the mean of the reports. If some say "I shed nothing", the others count at most 1 each.
//     Otherwise one of three replicas behind a host that sheds nearly all would outweigh two that can serve
//     the calls.
//   - The server cannot say how much more it could serve. So the level falls slowly at first, and the
//     faster the longer no server has shed: after a real recovery it is 0 in two seconds, while a
//     moment without shedding hardly changes it.
//
// A server may be wrong, or lie. The probability is at most 0.95. It fades within 5 s if no report
// comes, or 8 s if they were rare before. And a server that sheds rejects calls: if far fewer were
// rejected than it says, the client does not believe it, see [State.Doubted].
package feedback

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// MaxPriorities is the number of priorities.
const MaxPriorities = 16

const (
	// Interval is the time between two updates.
	Interval = 100 * time.Millisecond
	// Most is the largest probability: probes remain.
	Most = 0.95
	// Lasting is how long a report counts. It differs by fadeJitter between clients, so that they do not
	// all return at once.
	Lasting    = 5 * time.Second
	fadeJitter = 0.2
	// A client with few calls has few reports. There a report counts until that many others should have come, but
	// not longer than longestLasting. Else it forgets between two, and the server has to shed what it sends then.
	lastingReports = 4
	longestLasting = 8 * time.Second
	// remembered is how long the levels are kept without a report. A client that sheds most of its few calls
	// receives few reports. It continues where it was.
	remembered = 30 * time.Second

	settle = 2.0  // in seconds
	aim    = 0.05 // the y that is left to the server
	mostUp = 1.0  // y of a report counts as this at most, if others shed nothing
	// release is the rate at which the level falls, in the unit of y. It grows by e in 1/releaseGrowth
	// seconds.
	release, releaseGrowth = 0.5, 1.5
	mostGrowth             = 100
	// perReport bounds how much one report raises the level, for clients with few calls.
	perReport = 0.25
	// longestStep is the longest time between two updates with a report that counts, in seconds.
	longestStep = 1.0
	// mostAnswers is the largest number of answers that a report counts for.
	mostAnswers = 16
	// hardly is a level that is as good as none.
	hardly = 0.005
	// A server is not believed if less than doubtfulPart of the rejections came that it has said, and if it
	// has said fewExpected or more. Numbers of calls halve at manyExpected: the last few count.
	doubtfulPart              = 0.25
	fewExpected, manyExpected = 8, 32
	// mixture is how long a report counts for whether servers are overloaded, in seconds.
	mixture = 0.5
)

// Counts are the calls of one priority that were answered.
type Counts struct {
	Answers uint64
	Full    uint64 // rejections that said that the server is full
}

// State is what was received from the servers of one client. Its methods are safe for concurrent use.
type State struct {
	calm    atomic.Bool  // a report of a calm server came since the last update
	active  atomic.Bool  // a report of an overloaded server still counts
	updated atomic.Int64 // time of the last update
	lasting time.Duration

	mu sync.Mutex
	// The fields below are guarded by mu.
	fresh      sums
	levels     [MaxPriorities]float64
	shedAt     [MaxPriorities]time.Duration // of the last report with a share
	at         time.Duration                // of the last update
	changed    time.Duration                // of the last update with a report
	receivedAt time.Duration                // of the last report while active
	gap        time.Duration                // smoothed time between reports while active
	fullAt     time.Duration                // of the last report of an overloaded server
	calmAt     time.Duration                // of the last report of a calm server; math.MinInt64/2 for none
	overloaded float64                      // smoothed part of the reports
	before     [MaxPriorities]Counts
	judged     bool    // before is set
	expected   float64 // rejections that the servers have said
	rejected   float64 // those that came
}

// sums adds up the reports since the last update.
type sums struct {
	reports, overloaded float64
	shedding            [MaxPriorities]float64 // reports with a share
	want                [MaxPriorities]float64 // sum of y
	share               [MaxPriorities]float64
}

// New returns a state. Draw is a random number in [0, 1): clients differ in how long a report lasts.
func New(draw float64) *State {
	s := &State{
		lasting: time.Duration(float64(Lasting) * (1 - fadeJitter*draw)),
		calmAt:  math.MinInt64 / 2,
	}
	s.updated.Store(-int64(Interval)) // the first report counts at once
	return s
}

// Calm notes a report of a calm server, if nothing more is needed. Otherwise it returns false: then call
// Add. It reads no clock.
func (s *State) Calm() bool {
	if s.active.Load() {
		return false
	}
	if !s.calm.Load() {
		s.calm.Store(true)
	}
	return true
}

// Active reports whether shedding may depend on what was received, and so on the time.
func (s *State) Active() bool { return s.active.Load() }

// Add adds a report that came at now. That of a calm server counts for a number of answers. Add drops the
// report if another one is being added.
func (s *State) Add(overloaded bool, shares *[MaxPriorities]float64, answers int, now time.Duration) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	f := &s.fresh
	if s.active.Load() && now-s.receivedAt > remembered {
		s.fresh = sums{} // no update has done so, because nothing was shed
		s.forget()
	}
	switch {
	case s.active.Load():
		s.gap += (min(max(0, now-s.receivedAt), longestLasting) - s.gap) / lastingReports
	case !overloaded:
		s.calm.Store(true)
		return
	}
	s.receivedAt = now
	if !overloaded {
		f.reports += float64(min(max(answers, 1), mostAnswers))
		return
	}
	f.reports++
	f.overloaded++
	s.fullAt = now
	for p, share := range shares {
		if !(share > 0) { // or NaN
			continue
		}
		share = min(share, Most)
		f.shedding[p]++
		f.want[p] -= math.Log1p(-share)
		f.share[p] += share
		s.shedAt[p] = now
	}
	if !s.active.Load() {
		s.at, s.changed = now-Interval, now-Interval
		s.active.Store(true)
	}
}

// Due reports whether to update the state at now, in a refresh of the decisions. It returns true for one
// caller per Interval. If a clock has jumped back, Due forgets everything: nothing else would end it.
func (s *State) Due(now time.Duration) bool {
	last := s.updated.Load()
	jumped := time.Duration(last)-now > Lasting
	if !jumped && now-time.Duration(last) < Interval || !s.updated.CompareAndSwap(last, int64(now)) {
		return false
	}
	if jumped {
		s.Forget()
	}
	return true
}

// Update computes the levels from the reports since the last update. Bucket is a time that has passed at
// least; it is the time as long as no server is overloaded. Shadow means that nothing is shed.
func (s *State) Update(counts *[MaxPriorities]Counts, bucket time.Duration, shadow bool) {
	if s.calm.Load() {
		s.calm.Store(false)
		s.mu.Lock()
		s.calmAt = bucket
		s.mu.Unlock()
	}
	if !s.active.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Duration(s.updated.Load())
	if now <= s.at {
		return
	}
	s.at = now
	dt := min((now - s.changed).Seconds(), longestStep)
	if s.fresh.reports > 0 {
		s.changed = now
	}
	s.mix(dt)
	s.judge(counts)
	for p := range s.levels {
		s.levels[p] = s.level(p, now, dt, shadow)
	}
	s.fresh = sums{}
	if now-s.fullAt > s.lasts() && s.levels == [MaxPriorities]float64{} || now-s.receivedAt > remembered {
		s.forget()
	}
}

func (s *State) level(p int, now time.Duration, dt float64, shadow bool) float64 {
	f, x := &s.fresh, s.levels[p]
	switch {
	case s.doubted():
		return 0
	case f.reports == 0:
		return x
	case shadow: // the server sheds for all, and says how much
		x += (-math.Log1p(-f.share[p]/f.reports) - x) * min(1, dt/settle)
	default:
		shedding := f.shedding[p] / f.reports
		y := f.want[p] / f.reports
		if shedding < 1 {
			y = min(y, mostUp*shedding)
		}
		growth := math.Exp(min(releaseGrowth*(now-s.shedAt[p]).Seconds(), math.Log(mostGrowth)))
		x += min((y-aim*shedding-(1-shedding)*release*growth)*dt/settle, perReport*f.reports)
	}
	if x < hardly {
		return 0
	}
	return min(x, -math.Log1p(-Most))
}

// judge compares the rejections that the servers have said with those that came.
func (s *State) judge(counts *[MaxPriorities]Counts) {
	for p := range counts {
		if !s.judged {
			break
		}
		answers, full := float64(counts[p].Answers-s.before[p].Answers), float64(counts[p].Full-s.before[p].Full)
		if s.fresh.share[p] > 0 {
			s.expected += answers * s.fresh.share[p] / s.fresh.reports
			s.rejected += full
		}
	}
	s.before, s.judged = *counts, true
	if s.expected > manyExpected {
		part := manyExpected / 2 / s.expected
		s.expected, s.rejected = part*s.expected, part*s.rejected
	}
}

func (s *State) doubted() bool {
	return s.expected >= fewExpected && s.rejected < doubtfulPart*s.expected
}

// mix smooths the part of the reports that is of overloaded servers.
func (s *State) mix(dt float64) {
	if f := &s.fresh; f.reports > 0 {
		weight := 1 - math.Exp(-dt/mixture)
		if !s.judged { // the first ones
			weight = 1
		}
		s.overloaded += weight * (f.overloaded/f.reports - s.overloaded)
		if f.overloaded < f.reports {
			s.calmAt = s.at
		}
	}
}
