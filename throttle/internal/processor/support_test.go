package processor

import (
	"math/rand/v2"
	"time"
)

// mixOfRig is the share of each priority in the demand.
var mixOfRig = [...]float64{0.1, 0.2, 0.3, 0.4}

// rig plays one processor with Go's scheduler in virtual time: goroutines take turns of at most 10 ms in
// the order in which they became runnable. Times are in seconds.
type rig struct {
	dice     *rand.Rand
	service  float64                   // of a request
	rare     float64                   // of one request in a hundred; 0 for service
	rate     func(now float64) float64 // requests per second
	onTick   func(r *rig)              // may be nil
	spinners int                       // goroutines that never rest
	quota    float64                   // of each tenth of a second, after which the process stands still; 0 for none
	used     float64                   // of the quota
	queue    []*job
	now      float64
	next     float64 // arrival
	ticked   float64
	waits    []float64 // of the turns since the last tick
	open     int
	demand   [MaxPriorities]uint64
	tallies  [len(mixOfRig)]tally

	controller Controller
}

// tally counts requests of a priority.
type tally struct{ offered, good, shed int }

// job is a goroutine that is runnable.
type job struct {
	arrived, left float64
	queued        float64
	priority      int
	admitted      bool
	spins         bool
}

const (
	patienceOfRig = 1.0
	turnOfRig     = 0.01
	refusalOfRig  = 50e-6
	periodOfQuota = 0.1
	rareOfRig     = 0.01
)

func newRig(seed uint64, service float64, rate func(float64) float64) *rig {
	return &rig{dice: rand.New(rand.NewPCG(seed, 7)), service: service, rate: rate}
}

func always(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

// capacity is the number of requests per second that the rig can serve.
func (r *rig) capacity() float64 {
	mean := r.service + refusalOfRig
	if r.rare > 0 {
		mean += rareOfRig * (r.rare - r.service)
	}
	if r.quota > 0 {
		return r.quota / periodOfQuota / mean
	}
	return 1 / mean
}

// run plays until a time, and returns what was counted since the last call.
func (r *rig) run(until float64) (all [len(mixOfRig)]tally) {
	if r.next == 0 {
		for range r.spinners {
			r.queue = append(r.queue, &job{spins: true})
		}
		r.next = r.pause(0)
	}
	for r.now < until {
		if r.now-r.ticked >= tick.Seconds()-1e-9 {
			r.tick()
		}
		if len(r.queue) == 0 {
			r.pass(min(r.next, r.ticked+tick.Seconds()) - r.now)
			continue
		}
		j := r.queue[0]
		r.queue = r.queue[1:]
		r.waits = append(r.waits, r.now-j.queued)
		r.take(j)
	}
	all, r.tallies = r.tallies, all
	return all
}

// take gives the processor to a goroutine.
func (r *rig) take(j *job) {
	if !j.spins && !j.admitted {
		r.work(refusalOfRig)
		r.demand[j.priority]++
		r.waits = append(r.waits, 0) // of another goroutine of the connection, which it wakes
		if r.dice.Float64() < r.controller.mix.drop[j.priority] {
			r.tallies[j.priority].shed++
			return
		}
		j.admitted = true
		r.open++
	}
	if j.spins {
		j.left = turnOfRig
	}
	work := min(j.left, turnOfRig)
	r.work(work)
	if j.left -= work; j.left > 1e-9 || j.spins {
		j.queued = r.now
		r.queue = append(r.queue, j)
		return
	}
	r.open--
	if r.now-j.arrived < patienceOfRig {
		r.tallies[j.priority].good++
	}
}

// work uses the processor, and stands still where the quota is used up.
func (r *rig) work(d float64) {
	r.pass(d)
	if r.used += d; r.quota > 0 && r.used >= r.quota {
		r.used -= r.quota
		r.pass(periodOfQuota - r.quota)
	}
}

// pass lets time pass, in which requests arrive.
func (r *rig) pass(d float64) {
	r.now += d
	for r.next <= r.now {
		p := 0
		for u := r.dice.Float64() - mixOfRig[0]; u > 0 && p < len(mixOfRig)-1; u -= mixOfRig[p] {
			p++
		}
		r.tallies[p].offered++
		j := &job{arrived: r.next, queued: r.next, priority: p, left: r.service}
		if r.rare > 0 && r.dice.Float64() < rareOfRig {
			j.left = r.rare
		}
		r.queue = append(r.queue, j)
		r.next += r.pause(r.next)
	}
}

func (r *rig) pause(now float64) float64 { return r.dice.ExpFloat64() / max(r.rate(now), 1e-3) }

// tick lets the controller decide. It sees one turn in eight, by chance.
func (r *rig) tick() {
	seen := 0
	for _, wait := range r.waits {
		if wait >= r.controller.shortWait() && r.dice.IntN(turnsPerSample) == 0 {
			seen++
		}
	}
	r.controller.Update(&Reading{
		Elapsed: time.Duration((r.now - r.ticked) * float64(time.Second)), Runnable: len(r.queue), Turns: float64(seen * turnsPerSample),
		Processors: 1, Aim: 30 * time.Millisecond, Demand: r.demand, Open: r.open,
	})
	r.ticked, r.waits, r.demand = r.now, r.waits[:0], [MaxPriorities]uint64{}
	if r.onTick != nil {
		r.onTick(r)
	}
}

// sum adds up all priorities.
func sum(all [len(mixOfRig)]tally) (s tally) {
	for _, t := range all {
		s.offered, s.good, s.shed = s.offered+t.offered, s.good+t.good, s.shed+t.shed
	}
	return s
}

// success is the share of the offered requests that were served.
func (t tally) success() float64 { return float64(t.good) / max(1, float64(t.offered)) }

// refused is the share of the offered requests that were shed.
func (t tally) refused() float64 { return float64(t.shed) / max(1, float64(t.offered)) }
