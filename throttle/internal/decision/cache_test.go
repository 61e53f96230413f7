package decision

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	span    = 10 * time.Second
	buckets = 100
	width   = span / buckets
	stripes = 4
)

// rig is a cache with one row whose probability is the share of refused calls in the window.
type rig struct {
	Cache
	w        *window.Window
	now      time.Duration
	computed int             // number of refreshes
	during   func(*rig)      // called by a refresh after the window was read
	latest   []window.Counts // of the last refresh
}

func newRig(least uint64, rand func() float64) *rig {
	r := &rig{w: window.New(window.Shape{Span: span, Buckets: buckets, Rows: 1, Stripes: stripes}), during: func(*rig) {}}
	r.Init(Config{Window: r.w, Rows: 1, MinEvents: least, Rand: rand, Compute: func(reading window.Reading, results []Packed) {
		r.computed++
		r.latest = slices.Clone(reading.Span)
		results[0] = Pack(share(reading.Span[0]), 0)
		r.during(r)
	}})
	return r
}

func share(c window.Counts) float64 { return float64(c.Refused()) / float64(c.Requests()+1) }

// exact returns the counts of the window now.
func (r *rig) exact() window.Counts {
	var span [1]window.Counts
	r.w.ReadAt(r.now, window.Reading{Span: span[:]})
	return span[0]
}

// decide returns the decision on a call.
func (r *rig) decide(stripe int) (p float64, shed bool) {
	if !r.NeedsDecision() {
		return 0, false
	}
	packed, shed := r.Decide(0, stripe, r.now)
	return packed.Probability(), shed
}

// count records a call that ended now.
func (r *rig) count(stripe, column int) { r.countAt(r.now, stripe, column) }

func (r *rig) countAt(now time.Duration, stripe, column int) {
	if r.Due(now) {
		r.Roll(now)
	}
	r.w.Row(stripe, 0)[column].Add(1)
	switch column {
	case window.Rejected:
		r.NoteRejected(stripe)
	case window.Shed:
		r.NoteRefused()
	}
}

// call decides about a call, counts it, and returns the probability that was used.
func (r *rig) call(stripe int, rejected bool) float64 {
	p, shed := r.decide(stripe)
	switch {
	case shed:
		r.count(stripe, window.Shed)
	case rejected:
		r.count(stripe, window.Rejected)
	default:
		r.count(stripe, window.Accepted)
	}
	return p
}

// TestCache_needsDecision checks that NeedsDecision is true while the window holds a refused call, and
// false soon after the last one has left.
func TestCache_needsDecision(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	r := newRig(1, dice.Float64)
	rested := 0
	for range 50_000 {
		pause := time.Duration(dice.Int64N(int64(width) / 5))
		if dice.IntN(500) == 0 {
			pause = time.Duration(dice.Int64N(int64(2 * span)))
		}
		r.now += pause
		r.call(dice.IntN(stripes), dice.IntN(300) == 0)
		switch refused := r.exact().Refused(); {
		case refused > 0 && !r.NeedsDecision():
			t.Fatalf("at %v: the window holds %d refused calls, and NeedsDecision is false", r.now, refused)
		case refused == 0 && r.NeedsDecision() && r.latest[0].Refused() == 0:
			t.Fatalf("at %v: a refresh found no refused call, and NeedsDecision is true", r.now)
		case refused == 0:
			rested++
		}
	}
	if rested == 0 {
		t.Error("the window held a refused call all the time: nothing was tested")
	}
}

// TestCache_needsDecisionWithoutRefusals has a probability that does not come from the window. It applies
// from the refresh on that computes it, until the one that computes 0.
func TestCache_needsDecisionWithoutRefusals(t *testing.T) {
	r := &rig{w: window.New(window.Shape{Span: span, Buckets: buckets, Rows: 1, Stripes: stripes})}
	probability := 0.0
	r.Init(Config{Window: r.w, Rows: 1, Compute: func(_ window.Reading, results []Packed) { results[0] = Pack(probability, 0) }})
	for _, probability = range []float64{0, 0.5, 0.25, 0} {
		r.Refresh(r.now)
		if p, _ := r.decide(0); p != probability || r.NeedsDecision() != (probability > 0) {
			t.Errorf("got %v, a decision is needed: %v, want %v", p, r.NeedsDecision(), probability)
		}
	}
}

// TestCache_refusedDuringRefresh counts a refused call after a refresh has read the window.
func TestCache_refusedDuringRefresh(t *testing.T) {
	for _, column := range []int{window.Rejected, window.Shed} {
		r := newRig(1, nil)
		r.count(0, column)
		r.now += 2 * span // the window is empty at the next refresh
		r.during = func(r *rig) {
			r.during = func(*rig) {}
			r.w.Row(1, 0)[column].Add(1)
			r.NoteRefused()
		}
		r.count(0, window.Accepted)
		if !r.NeedsDecision() {
			t.Errorf("column %d: NeedsDecision is false, and the window holds a refused call", column)
		}
		r.now += 2 * span
		if r.count(0, window.Accepted); r.NeedsDecision() {
			t.Errorf("column %d: NeedsDecision is true, and the window is empty", column)
		}
	}
}

// TestCache_decisionsWaitAfterAPause decides while the first refresh after a pause runs. The old
// decision must not be used.
func TestCache_decisionsWaitAfterAPause(t *testing.T) {
	r := newRig(1, func() float64 { return 0 })
	r.count(0, window.Rejected)
	done := make(chan bool, 1)
	r.during = func(r *rig) {
		r.during = func(*rig) {}
		began := make(chan bool)
		go func() {
			close(began)
			_, shed := r.Decide(0, 1, 2*span)
			done <- shed
		}()
		<-began
		for range 1000 {
			runtime.Gosched() // time to decide, if it does not wait
		}
	}
	r.now = 2 * span
	if _, shed := r.decide(0); shed || <-done {
		t.Error("a call was shed for a rejection that has left the window")
	}
}

// TestCache_eventDuringRefresh counts a rejection after a refresh has read the window. The next call
// must be decided by it.
func TestCache_eventDuringRefresh(t *testing.T) {
	r := newRig(1, func() float64 { return 0 })
	r.count(0, window.Accepted)
	r.during = func(r *rig) {
		r.during = func(*rig) {}
		r.w.Row(1, 0)[window.Rejected].Add(1)
		r.NoteRejected(1)
	}
	r.now += width
	r.count(0, window.Accepted)
	if p, _ := r.decide(0); p == 0 || math.Abs(p-share(r.exact())) > 1e-9 {
		t.Errorf("probability: got %v, want %v", p, share(r.exact()))
	}
}

// TestCache_decisionsDoNotWait decides while a refresh runs.
func TestCache_decisionsDoNotWait(t *testing.T) {
	r := newRig(1, func() float64 { return 0 })
	r.count(0, window.Rejected)
	before, _ := r.decide(0)
	asked := false
	r.during = func(r *rig) {
		r.during = func(*rig) {}
		asked = true
		if p, shed := r.decide(1); p != before || !shed { // it would wait for itself
			t.Errorf("during a refresh: got probability %v, shed %v, want %v, true", p, shed, before)
		}
		r.NoteRejected(1)
		if r.Due(r.now + width/2) {
			r.Roll(r.now + width/2)
		}
	}
	r.now += width
	r.count(0, window.Accepted)
	if !asked {
		t.Fatal("no refresh")
	}
}

// TestCache_refresh counts the events after which the decisions are computed again: of one stripe, or of all.
func TestCache_refresh(t *testing.T) {
	for _, tt := range []struct {
		least          uint64
		requests, want int
		all            bool // events of all stripes count
	}{
		{1, 100, 1, true},
		{5, 4095, 5, true},
		{16, 1, 16, true},
		{16, 4095, 16, true},
		{16, 4096, 16, false},
		{16, 32_767, 64, false},
		{16, 1_000_000, 128, false},
	} {
		for stripe := range stripes {
			r := newFullRig(tt.least, tt.requests)
			events := 0
			for ; r.computed == 0; events++ {
				if r.decide(stripe); !tt.all {
					r.decide((stripe + 1 + events%2) % stripes)
				}
			}
			if events != tt.want {
				t.Errorf("%d requests, at least %d events: computed again after %d want %d", tt.requests, tt.least, events, tt.want)
			}
		}
	}
}

// newFullRig returns a rig whose window holds requests, one of them rejected.
func newFullRig(least uint64, requests int) *rig {
	r := newRig(least, func() float64 { return 1 })
	r.w.Row(0, 0)[window.Accepted].Add(uint64(requests - 1))
	r.w.Row(0, 0)[window.Rejected].Add(1)
	r.NoteRefused()
	r.Refresh(0)
	r.computed = 0
	return r
}

// TestCache_parallel uses all stripes at once. Once all calls are done, the decision must be exact.
func TestCache_parallel(t *testing.T) {
	r := newRig(1, nil)
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(g), 3))
			for i := range 5000 {
				stripe, now := g%stripes, time.Duration(i)*width/50
				column := window.Accepted
				if r.NeedsDecision() {
					if _, shed := r.Decide(0, stripe, now); shed {
						column = window.Shed
					}
				}
				if column == window.Accepted && dice.IntN(2) == 0 {
					column = window.Rejected
				}
				r.countAt(now, stripe, column)
			}
		})
	}
	all.Wait()
	r.now = 5000 * width / 50
	r.Refresh(r.now)
	if p, _ := r.decide(0); p != share(r.exact()) && share(r.exact())-p > 0.01 {
		t.Errorf("probability: got %v, want %v", p, share(r.exact()))
	}
	if total := r.exact().Requests(); total != 16*5000 {
		t.Errorf("the window holds %d calls, want %d", total, 16*5000)
	}
}
