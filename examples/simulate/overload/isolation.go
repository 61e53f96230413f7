package overload

import (
	"math"

	"github.com/spillway-go/spillway/throttle"
)

// isolation returns the admitted share of the worst healthy priority while another one fails: in
// the second half of the last phase, and in the whole run.
func isolation(r *record, last *Phase) (steady, whole float64) {
	steady, whole = math.NaN(), math.NaN()
	half := len(r.entries) - int(last.Length/2/width)
	late, all := total(r.entries[half:]), total(r.entries)
	for _, p := range healthyBeside(last) {
		steady = worst(steady, admittedShare(&late, p))
		whole = worst(whole, admittedShare(&all, p))
	}
	return steady, whole
}

// healthyBeside returns the priorities that do not fail in a phase in which another one fails.
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

func admittedShare(e *entry, p throttle.Priority) float64 { return e.Admitted[p] / e.Offered[p] }

// worst returns the smaller number. If one of them is NaN, it returns the other one.
func worst(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}
