package overload

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	settling     = int(5 * time.Second / width) // how long a recovery must last
	shedding     = 0.1                          // of the load, to speak of shedding
	admittedWell = 0.99                         // of the load, to speak of a recovery
	servedWell   = 0.97
)

// measure returns the figures of one case.
func measure(r *record, c *Case) Figures {
	f := Figures{FalseShed: falseShed(r), TimeToShed: math.NaN(), TimeToRecover: math.NaN()}
	first, end := r.disturbance()
	during, later := total(r.entries[first:end]), total(r.entries[(first+end)/2:end])
	f.Goodput = min(1, during.useful/during.servable) // a little more was served if work had been saved up
	if during.servable == 0 {
		f.Goodput = math.NaN()
	}
	f.Sent = later.admitted.sum() / later.capacity
	if later.capacity == 0 {
		f.Sent = math.NaN()
	}
	f.Waste = during.wasted / (during.useful + during.wasted)
	for p := range f.Success {
		f.Success[p] = later.succeeded[p] / later.offered[p]
	}
	if overloads(c.Phases) {
		f.TimeToShed = timeToShed(r.entries[first:end])
	}
	if end < len(r.entries) {
		f.TimeToRecover = timeToRecover(r.entries[end:])
	}
	f.Fairness = fairness(r.clients)
	f.Steady, f.Whole = isolation(r, &c.Phases[len(c.Phases)-1])
	f.SteadyWorst, f.WholeWorst = f.Steady, f.Whole
	return f
}

// overloads reports whether more is ever offered than the backend can serve.
func overloads(phases []Phase) bool {
	for i := range phases {
		if p := &phases[i]; p.Disturbed && p.Load.sum() > p.Capacity {
			return true
		}
	}
	return false
}

// falseShed is the share that was shed before the disturbance, or ever if there is none.
func falseShed(r *record) float64 {
	calm := r.entries
	if first, _ := r.disturbance(); !r.calm {
		calm = calm[:first]
	}
	sum := total(calm)
	return 1 - sum.admitted.sum()/sum.offered.sum()
}

// timeToShed is how many seconds it takes until a good part of the load is shed.
func timeToShed(during []entry) float64 {
	for i := range during {
		offered := during[i].offered.sum()
		if shed := offered - during[i].admitted.sum(); offered > 0 && shed >= shedding*offered {
			return seconds(i + 1)
		}
	}
	return math.Inf(1)
}

// timeToRecover is how many seconds it takes until nearly everything is admitted and served again, for a while.
func timeToRecover(after []entry) float64 {
	for i := range len(after) - settling + 1 {
		sum := total(after[i : i+settling])
		offered := sum.offered.sum()
		if sum.admitted.sum() >= admittedWell*offered && sum.succeeded.sum() >= servedWell*offered {
			return seconds(i)
		}
	}
	return math.Inf(1)
}

// seconds is the time that so many entries are about.
func seconds(entries int) float64 { return (time.Duration(entries) * width).Seconds() }

// fairness is Jain's index of the success rates of the clients that offered anything.
func fairness(clients []client) float64 {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, c := range clients {
		if c.offered > 0 {
			rate := float64(c.succeeded) / float64(c.offered)
			n++
			sum += rate
			squares += rate * rate
		}
	}
	return sum * sum / (n * squares)
}

// isolation is the share admitted of the worst healthy priority beside a failing one, in the second half of the last
// phase and in the whole run.
func isolation(r *record, last *Phase) (steady, whole float64) {
	steady, whole = math.NaN(), math.NaN()
	half := len(r.entries) - int(last.Length/2/width)
	late, all := total(r.entries[half:]), total(r.entries)
	for _, p := range healthyBeside(last) {
		steady = worst(steady, share(&late, p))
		whole = worst(whole, share(&all, p))
	}
	return steady, whole
}

// healthyBeside returns the priorities that the phase leaves alone while another one fails.
func healthyBeside(p *Phase) []throttle.Priority {
	var healthy []throttle.Priority
	failing := false
	for i, load := range p.Load {
		switch {
		case load == 0:
		case p.Failing[i] > 0:
			failing = true
		default:
			healthy = append(healthy, throttle.Priority(i))
		}
	}
	if !failing {
		return nil
	}
	return healthy
}

// share is the part of the priority that was admitted.
func share(e *entry, p throttle.Priority) float64 { return e.admitted[p] / e.offered[p] }

// worst is the smaller of two numbers that are numbers.
func worst(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// combine makes of the cases' figures those of the run: their mean, but for the worst. What has no meaning in a
// case is left out.
func combine(cases []Figures) Figures {
	sum, n := make([]float64, len(FigureNames())), make([]float64, len(FigureNames()))
	steady, whole := math.NaN(), math.NaN()
	for i := range cases {
		steady = worst(steady, cases[i].SteadyWorst)
		whole = worst(whole, cases[i].WholeWorst)
		for k, x := range cases[i].Values() {
			if !math.IsNaN(x) {
				sum[k] += x
				n[k]++
			}
		}
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	f := figuresOf(sum)
	f.SteadyWorst, f.WholeWorst = steady, whole
	return f
}
