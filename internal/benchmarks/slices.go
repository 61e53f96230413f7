package main

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// sliceLength is how long a subject runs at a stretch: much shorter than a scheduler's time slice, so that most are undisturbed.
	sliceLength = 300 * time.Microsecond
	// samplesPerSlice is how many operations are looked at after each slice.
	samplesPerSlice = 16
	// leastOverlap is the part of a pair's time that both must have run.
	leastOverlap = 0.70
	// steps is how often the two of a pair look whether the other has finished.
	steps = 20
	// depths is at how many depths of the stack slices run, one page of a stripe's hash apart.
	depths = 16
)

// result is what was measured of a subject.
type result struct {
	*subject
	n         int       // operations per slice
	serial    []float64 // ns per operation of each slice that was kept
	paired    []float64 // of each pair of slices that was kept, over the operations of both
	good, all uint64    // operations that did what they should, of those looked at
}

// span is a slice that ran.
type span struct {
	begin, end time.Duration
	ops        int
	clean      bool // nobody took the processor away
}

func (s span) length() time.Duration { return s.end - s.begin }

// overlap is the part of the time from the first's begin to the last's end during which both ran.
func overlap(a, b span) float64 {
	both := min(a.end, b.end) - max(a.begin, b.begin)
	return float64(both) / float64(max(a.end, b.end)-min(a.begin, b.begin))
}

// lab is where slices are measured. It belongs to one goroutine.
type lab struct {
	base    time.Time
	partner *partner // nil on a machine of one processor
}

// measure measures all subjects, interleaved: each runs one slice per round, in an order drawn anew for every round. The garbage
// collector runs between the rounds alone.
func measure(subjects []*subject, rounds int, p *progress) []*result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	l := &lab{base: time.Now()}
	if runtime.GOMAXPROCS(0) > 1 {
		l.partner = newPartner()
		defer l.partner.leave()
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
		p.at(round)
		runtime.GC()
		rand.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		for _, slot := range slots {
			slot()
		}
	}
	p.at(rounds)
	for _, r := range results {
		r.settle()
	}
	return results
}

// settle sorts what was measured, and replaces samples by a tally where there is one.
func (r *result) settle() {
	slices.Sort(r.serial)
	slices.Sort(r.paired)
	if r.tally != nil {
		r.good, r.all = r.tally()
	}
}

// calibrate returns how many operations make a slice.
func (l *lab) calibrate(s *subject) int {
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

// alone measures one slice on this processor, at a depth of the stack drawn for it: the stripe that it picks decides which
// places in memory it uses, and some places get into each other's way for the whole life of a process.
func (l *lab) alone(r *result) {
	r.ready()
	deeper(rand.IntN(depths), func() {
		loop(r.op, r.n/16+1)
		if s := l.run(r.subject, r.n); s.clean {
			r.serial = append(r.serial, float64(s.length())/float64(r.n))
		}
	})
	r.sample()
}

// together measures one slice on this processor and one on another at the same time. Each runs at a depth of the stack drawn
// for it: what picks a stripe by the stack's address meets itself on one stripe in some slices, and never in all.
func (l *lab) together(r *result) {
	r.ready()
	runtime.UnlockOSThread() // a goroutine that owns its thread pays more for waiting at a lock
	defer runtime.LockOSThread()
	var over atomic.Bool
	mine, theirs := l.partner.race(func(meet func()) (s span) {
		deeper(rand.IntN(depths), func() {
			loop(r.op, r.n/16+1)
			meet()
			s = l.runUntil(r.op, r.n, &over)
		})
		return s
	})
	if mine.clean && theirs.clean && overlap(mine, theirs) >= leastOverlap {
		r.paired = append(r.paired, float64(mine.length()+theirs.length())/2/float64(mine.ops+theirs.ops))
	}
	r.sample()
}

// run times n operations.
func (l *lab) run(s *subject, n int) span {
	whose := ofThread
	if s.loose {
		whose = ofProcess
		runtime.UnlockOSThread()
		defer runtime.LockOSThread()
	}
	before := switches(whose)
	begin := time.Since(l.base)
	loop(s.op, n)
	end := time.Since(l.base)
	return span{begin: begin, end: end, ops: n, clean: switches(whose) == before}
}

// runUntil times n operations, or as many as are done when the other of the pair is over: a lock is not fair.
func (l *lab) runUntil(op func() error, n int, over *atomic.Bool) span {
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

// sample looks at a few operations.
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

// deeper runs f so many pages down the stack.
func deeper(pages int, f func()) byte {
	var page [2048]byte
	page[pages] = 1
	if pages == 0 {
		f()
		return page[0]
	}
	return deeper(pages-1, f) + page[pages]
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

func (p *partner) leave() { close(p.jobs) }

// race runs f here and at the partner's. It hands both a function that returns when both have called it.
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
