package throttle

import (
	"testing"
	"time"
)

// probes tells how many calls per second, of the highest priority and of all, reach a backend that rejects everything, once that is known.
func (l *lab) probes(rate float64) (top, total float64) {
	const span = 5 * time.Minute
	all := make([]*load, l.priorities)
	for p := range all {
		all[p] = &load{priority: Priority(p), every: perSecond(rate), failing: 1, from: time.Duration(p) * time.Microsecond}
	}
	l.run(2*l.span, all...)
	for _, o := range all {
		o.admitted, o.shed = 0, 0
	}
	l.run(span, all...)
	for _, o := range all {
		total += float64(o.admitted) / span.Seconds()
	}
	return float64(all[High].admitted) / span.Seconds(), total
}

func TestProbesReachADeadBackend(t *testing.T) {
	for _, c := range []struct{ rate, minimum float64 }{{10, 0.5}, {10, 1}, {50, 5}, {100, 1}, {400, 1}} {
		l := newLab(t, 2, Config{MinimumRate: c.minimum})
		top, total := l.probes(c.rate)
		if top < 0.5*c.minimum || top > 1.6*c.minimum {
			t.Errorf("%v calls/s, minimum rate %v: %.2f probes/s of High, want 0.5 to 1.6 times the minimum", c.rate, c.minimum, top)
		}
		if total > 2.2*c.minimum {
			t.Errorf("%v calls/s, minimum rate %v: %.2f probes/s in all, want 2.2 times the minimum at most", c.rate, c.minimum, total)
		}
	}
}

func TestTieredProbesADeadBackend(t *testing.T) {
	for _, c := range []struct{ rate, minimum float64 }{{10, 1}, {100, 1}, {50, 5}} {
		for _, priorities := range []int{1, 2, 4, 16} {
			most := 1.6 * c.minimum
			if priorities > 4 { // to know its fate, a priority needs one or two answers in ten seconds: that adds up
				most += 0.1 * float64(priorities)
			}
			l := newLab(t, 2, Config{MinimumRate: c.minimum, Policy: Tiered, Priorities: priorities})
			_, total := l.probes(c.rate)
			if total < 0.5*c.minimum || total > most {
				t.Errorf("%d priorities of %v calls/s, minimum rate %v: %.2f probes/s in all, want %.2f to %.2f",
					priorities, c.rate, c.minimum, total, 0.5*c.minimum, most)
			}
		}
	}
}
