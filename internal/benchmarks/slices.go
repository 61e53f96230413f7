package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// sliceLength is the length of a slice. It is much shorter than a time slice of the scheduler, so
	// that most slices are undisturbed.
	sliceLength = 300 * time.Microsecond
	// samplesPerSlice is the number of operations that are checked after each slice.
	samplesPerSlice = 16
	// minOverlap is the smallest part of the time of a pair in which both must run.
	minOverlap = 0.70
	// steps is how often each of a pair checks during a slice whether the other has finished.
	steps = 20
	// depths is the number of stack depths at which slices run. They are so far apart that each may
	// pick another stripe.
	depths = 16
)

type result struct {
	*subject
	n         int       // operations per slice
	serial    []float64 // ns per operation of each slice that was kept
	paired    []float64 // the same of each pair of slices, over the operations of both
	good, all uint64    // checked operations, and those that did what the name says
}

// span is the time that a slice took.
type span struct {
	begin, end time.Duration
	ops        int
	clean      bool // without an involuntary context switch
}

func (s span) length() time.Duration { return s.end - s.begin }

// overlap returns the part of the time from the first begin to the last end in which both ran.
func overlap(a, b span) float64 {
	both := min(a.end, b.end) - max(a.begin, b.begin)
	return float64(both) / float64(max(a.end, b.end)-min(a.begin, b.begin))
}

// runner measures slices. It is not safe for concurrent use.
type runner struct {
	base    time.Time
	partner *partner // nil on one processor
}

// measure measures all subjects interleaved: each runs one slice per round, in a new random order. The
// garbage collector runs between the rounds only.
func measure(subjects []*subject, rounds int, p progress) []*result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	l := &runner{base: time.Now()}
	if runtime.GOMAXPROCS(0) > 1 {
		l.partner = newPartner()
		defer l.partner.stop()
	}
	var results []*result
	var slots []func()
	for _, s := range subjects {
		r := &result{subject: s, n: l.calibrate(s)}
		results = append(results, r)
		slots = append(slots, func() { l.alone(r) })
		if s.pair && l.partner != nil {
			slots = append(slots, func() { l.together(r) })
		}
	}
	for round := range rounds {
		if round%10 == 0 {
			p(fmt.Sprintf("round %d of %d", round, rounds))
		}
		runtime.GC()
		rand.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		for _, slot := range slots {
			slot()
		}
	}
	p("")
	for _, r := range results {
		r.finish()
	}
	return results
}

// finish sorts the measurements, and replaces the samples by the tally if there is one.
func (r *result) finish() {
	slices.Sort(r.serial)
	slices.Sort(r.paired)
	if r.tally != nil {
		r.good, r.all = r.tally()
	}
}

// calibrate returns the number of operations of a slice.
func (l *runner) calibrate(s *subject) int {
	n := 16
	for {
		s.ready()
		best := l.run(s, n).length()
		for range 4 {
			best = min(best, l.run(s, n).length())
		}
		if best >= sliceLength/4 {
			return max(1, int(float64(n)*float64(sliceLength)/float64(best)))
		}
		n *= 2
	}
}

// alone measures one slice on this processor, at a random depth of the stack. The depth decides which
// stripe of the counters is used, and some stripes are slower for the whole life of a process.
func (l *runner) alone(r *result) {
	r.ready()
	atDepth(rand.IntN(depths), func() {
		loop(r.op, r.n/16+1)
		if s := l.run(r.subject, r.n); s.clean {
			r.serial = append(r.serial, float64(s.length())/float64(r.n))
		}
	})
	r.sample()
}

// together measures one slice on this processor and one on another at the same time, each at a random
// depth of the stack. So two callers share a stripe in some slices, and not in all or none.
func (l *runner) together(r *result) {
	r.ready()
	runtime.UnlockOSThread() // waiting at a lock is slower for a goroutine that is locked to its thread
	defer runtime.LockOSThread()
	var over atomic.Bool
	mine, theirs := l.partner.race(func(meet func()) (s span) {
		atDepth(rand.IntN(depths), func() {
			loop(r.op, r.n/16+1)
			meet()
			s = l.runUntil(r.op, r.n, &over)
		})
		return s
	})
	if mine.clean && theirs.clean && overlap(mine, theirs) >= minOverlap {
		r.paired = append(r.paired, float64(mine.length()+theirs.length())/2/float64(mine.ops+theirs.ops))
	}
	r.sample()
}

func (l *runner) run(s *subject, n int) span {
	before := switches(ofThread)
	begin := time.Since(l.base)
	loop(s.op, n)
	end := time.Since(l.base)
	return span{begin: begin, end: end, ops: n, clean: switches(ofThread) == before}
}

// runUntil times up to n operations. It stops early if the other of the pair has finished, because a
// lock is not fair.
func (l *runner) runUntil(op func() error, n int, over *atomic.Bool) span {
	step := n/steps + 1
	var s span
	before := switches(ofProcess)
	s.begin = time.Since(l.base)
	for ; s.ops < n && !over.Load(); s.ops += step {
		loop(op, step)
	}
	over.Store(true)
	s.end = time.Since(l.base)
	s.clean = switches(ofProcess) == before
	return s
}

// loop runs n operations.
//
//go:noinline
func loop(op func() error, n int) {
	for range n {
		_ = op()
	}
}

func (r *result) sample() {
	if r.tally != nil {
		return
	}
	for range samplesPerSlice {
		r.all++
		if r.isGood(r.op()) {
			r.good++
		}
	}
}

// atDepth runs f that many pages deeper in the stack.
func atDepth(pages int, f func()) byte {
	var page [2048]byte
	page[pages] = 1
	if pages == 0 {
		f()
		return page[0]
	}
	return atDepth(pages-1, f) + page[pages]
}

// partner runs slices on a second processor.
type partner struct {
	jobs chan func() span
	done chan span
}

func newPartner() *partner {
	p := &partner{jobs: make(chan func() span), done: make(chan span)}
	go func() {
		for job := range p.jobs {
			p.done <- job()
		}
	}()
	return p
}

func (p *partner) stop() { close(p.jobs) }

// race runs f on this goroutine and on the partner. The function meet returns when both have called it.
func (p *partner) race(f func(meet func()) span) (mine, theirs span) {
	var here atomic.Int32
	meet := func() {
		here.Add(1)
		for here.Load() < 2 {
		}
	}
	p.jobs <- func() span { return f(meet) }
	mine = f(meet)
	return mine, <-p.done
}
