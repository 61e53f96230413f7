package overload

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Reports is how a backend says its load with each answer. A backend that rejects a call says that it is
// full: it has a throttle of its own. Only clients of a policy that listens receive it.
type Reports struct {
	Delay time.Duration // after which a report shows what the backend sheds
	Lost  float64       // share of the answers without a report
	Lie   Lie
}

// Lie is what a backend says instead of the truth.
type Lie uint8

// The lies.
const (
	Honest     Lie = iota
	AlwaysCalm     // it sheds nothing, whatever it rejects
	AlwaysFull     // it sheds all, whatever it serves
)

const (
	reportEvery  = 100 * time.Millisecond
	reportSmooth = 300 * time.Millisecond
	// leastReported is the share of rejected calls above which a backend is overloaded.
	leastReported = 0.01
)

type reporter struct {
	Reports
	random          *rand.Rand
	at              time.Duration
	offered, shed   Tiers // since at
	perTick, ofThem Tiers // smoothed
	past            []throttle.LoadReport
}

// add counts a call that the backend has served or shed.
func (r *reporter) add(p throttle.Priority, shed bool) {
	r.offered[p]++
	if shed {
		r.shed[p]++
	}
}

// report returns the report of an answer at now. Ok is false if it has none.
func (r *reporter) report(now time.Duration) (report throttle.LoadReport, ok bool) {
	for now >= r.at+reportEvery {
		r.tick()
	}
	if r.Lost > 0 && r.random.Float64() < r.Lost {
		return report, false
	}
	switch r.Lie {
	case AlwaysCalm:
		return report, true
	case AlwaysFull:
		report.Overloaded = true
		for p := range report.Shed {
			report.Shed[p] = 1
		}
		return report, true
	}
	age := int(r.Delay / reportEvery)
	if len(r.past) <= age {
		return report, true
	}
	return r.past[len(r.past)-1-age], true
}

// tick computes the report of the time since the last one.
func (r *reporter) tick() {
	var next throttle.LoadReport
	var offered, shed float64
	weight := 1 - math.Exp(-float64(reportEvery)/float64(reportSmooth))
	for p := range r.offered {
		r.perTick[p] += weight * (r.offered[p] - r.perTick[p])
		r.ofThem[p] += weight * (r.shed[p] - r.ofThem[p])
		offered, shed = offered+r.perTick[p], shed+r.ofThem[p]
		if r.ofThem[p] > 0 {
			next.Shed[p] = r.ofThem[p] / r.perTick[p]
		}
	}
	if next.Overloaded = shed > leastReported*offered; !next.Overloaded {
		next = throttle.LoadReport{}
	}
	r.past = append(r.past, next)
	r.at += reportEvery
	r.offered, r.shed = Tiers{}, Tiers{}
}

// report sends the load report of an answer. A backend without capacity cannot send one.
func (s *simulation) report(o offer) {
	if s.reports == nil || s.budget.rate == 0 {
		return
	}
	client, listens := s.clients[o.client].(listener)
	if report, sent := s.reports.report(s.clock.at); listens && sent {
		client.Receive(report)
	}
}
