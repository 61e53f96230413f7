package backoff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// What the design asks for. The start of a phase is left out of both shares: the first ten seconds, in which the new rate is found. How long
// that takes is judged by itself, and so is what is throttled meanwhile: all workers begin at once, without a delay, and are throttled at
// once, and while the delay is near its shortest they may do so again. The goodput of the whole phase is in the table, in brackets.
const (
	goodputLeast   = 0.97
	throttledMost  = 0.05
	recoveryMost   = 60 // s
	burstMost      = 16 // throttled calls in the start, for each worker
	burstLeast     = 64 // and as many more
	delaysApart    = 1.2
	simulatedStart = 10 * time.Second
)

// steps is a service whose capacity is halved, and is then four times that: it is doubled twice.
func steps(workers int) scenario {
	sc := scenario{workers: workers, latency: 10 * time.Millisecond, rates: []float64{200, 100, 200, 400}, each: 300 * time.Second, start: simulatedStart}
	if raceEnabled {
		sc.each = 120 * time.Second
	}
	if workers == 1 { // who calls at most 100 times a second, and with noise on a gap of 10 ms not so often
		sc.rates, sc.each = []float64{60, 30, 60, 30}, 300*time.Second
	}
	return sc
}

// line writes what came of a simulation as a line of a table.
func (o outcome) line(name string, workers int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %4d", name, workers)
	for _, p := range o.phases {
		fmt.Fprintf(&b, " | %5.1f (%5.1f) %4.1f %4d %3d %8s", 100*p.goodput, 100*p.whole, 100*p.throttled, p.burst, p.recovered, p.delay.Round(10*time.Microsecond))
	}
	return b.String()
}

// TestCapacitySteps is the table: goodput after the start, and with it, and throttled after it, in %, throttled calls in it, seconds to 90 % of the rate, and mean delay, of each phase.
func TestCapacitySteps(t *testing.T) {
	t.Logf("%-26s %4s, rates %v of %v", "", "W", steps(64).rates, steps(64).each)
	const phases = 4
	var delays [phases][]time.Duration
	for _, w := range []int{1, 8, 64, 512} {
		var keep []*backoff.Responsive
		o := simulate(t, steps(w), ours("ours", 1, backoff.Config{}, &keep))
		t.Log(o.line("ours", w))
		demand(t, fmt.Sprintf("%d workers", w), o, steps(w), goodputLeast, throttledMost)
		if ups := keep[0].Stats().Ups; ups > o.events {
			t.Errorf("%d workers: got %d steps up want at most %d, one for each event of overload", w, ups, o.events)
		}
		if w > 1 {
			for i, p := range o.phases {
				delays[i] = append(delays[i], p.delay)
			}
		}
	}
	for i, d := range delays {
		if apart := float64(slices.Max(d)) / float64(slices.Min(d)); apart > delaysApart {
			t.Errorf("phase %d: mean delays of 8, 64 and 512 workers: got %v, a ratio of %.2f want at most %v", i, d, apart, delaysApart)
		}
	}
}

// demand is what every phase of ours must keep.
func demand(t *testing.T, what string, o outcome, sc scenario, goodput, throttled float64) {
	t.Helper()
	for i, p := range o.phases {
		if p.burst > burstLeast+burstMost*sc.workers {
			t.Errorf("%s, %v calls/s: got %d throttled calls in the first %v want at most %d", what, sc.rates[i], p.burst, sc.start, burstLeast+burstMost*sc.workers)
		}
		if p.goodput < goodput || p.throttled > throttled || p.recovered < 0 || p.recovered > recoveryMost {
			t.Errorf("%s, %v calls/s of %v each: got goodput %.3f, throttled %.3f, recovered after %d s want at least %v, at most %v, at most %d s",
				what, sc.rates[i], sc.latency, p.goodput, p.throttled, p.recovered, goodput, throttled, recoveryMost)
		}
	}
}

// TestRivals puts the others in the same table. Nothing is asked of them but that they were simulated well enough to be told from ours: the
// document's sleeper, shared, does not find the rate; the cubic bucket does.
func TestRivals(t *testing.T) {
	const workers = 64
	var got []outcome
	for _, s := range []subject{
		ours("ours", 1, backoff.Config{}, nil), documentShared(), documentEach(), cubicAdaptive(),
		ours("ours, mode Sleep", 1, backoff.Config{Mode: backoff.Sleep}, nil), ours("ours, fleet of 4", 4, backoff.Config{}, nil), nothing(),
	} {
		sc := steps(workers)
		if raceEnabled {
			sc.each = 60 * time.Second
		}
		if s.name == "no backoff" { // six thousand calls a second
			sc.each, sc.start = 20*time.Second, 5*time.Second
		}
		o := simulate(t, sc, s)
		t.Log(o.line(s.name, workers))
		got = append(got, o)
	}
	for i := range got[0].phases {
		if ours, document := got[0].phases[i].goodput, got[1].phases[i].goodput; document > 0.5*ours {
			t.Errorf("phase %d: goodput of the document's, shared: got %.2f want at most half of ours, %.2f", i, document, ours)
		}
		if cubic := got[3].phases[i]; cubic.goodput < 0.85 || cubic.throttled > throttledMost {
			t.Errorf("phase %d: AWS-style: got goodput %.2f, throttled %.3f want at least 0.85, at most %v", i, cubic.goodput, cubic.throttled, throttledMost)
		}
		if none := got[6].phases[i]; none.throttled < 0.5 {
			t.Errorf("phase %d: no backoff: got %.2f throttled want at least half", i, none.throttled)
		}
	}
}

// TestTheRateIsFoundNearAndFar is the same service, near and far away.
func TestTheRateIsFoundNearAndFar(t *testing.T) {
	for _, tt := range []struct {
		workers            int
		latency            time.Duration
		rates              []float64
		goodput, throttled float64
	}{
		{64, time.Millisecond, []float64{200, 100, 200, 400}, goodputLeast, throttledMost},
		// The design's bounds are those of calls that take 10 ms. What a step did is seen after a second here, and once in a hundred runs the goodput
		// is below 95 %.
		{64, time.Second, []float64{40, 20, 40}, 0.93, throttledMost},
		// Of so many, hundreds are under way while the first answer of an overload is.
		{512, time.Second, []float64{200, 100, 200, 400}, 0.93, 0.15},
	} {
		sc := steps(tt.workers)
		sc.latency, sc.rates, sc.start, sc.each = tt.latency, tt.rates, 30*time.Second, 300*time.Second
		if raceEnabled && tt.workers > 64 {
			continue
		}
		var keep []*backoff.Responsive
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, &keep))
		t.Log(o.line(fmt.Sprintf("ours, %v", tt.latency), tt.workers))
		demand(t, fmt.Sprintf("%d workers", tt.workers), o, sc, tt.goodput, tt.throttled)
		if ups := keep[0].Stats().Ups; ups > o.events {
			t.Errorf("latency %v: got %d steps up want at most %d, one for each event of overload", tt.latency, ups, o.events)
		}
	}
}

// TestTheRateIsFoundAgainAfterAnOutage is a service that throttles everything for a while, after it was seen at its limit.
func TestTheRateIsFoundAgainAfterAnOutage(t *testing.T) {
	for _, out := range []time.Duration{time.Minute, 10 * time.Minute} {
		sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: time.Minute, rates: []float64{200}}
		for range out / sc.each {
			sc.rates = append(sc.rates, 1e-9)
		}
		sc.rates = append(sc.rates, 200)
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
		back := o.phases[len(o.phases)-1]
		t.Logf("outage of %v: back at 90 %% of the rate after %d s, throttled meanwhile %.1f %%", out, back.recovered, 100*back.throttled)
		if back.recovered < 0 || back.recovered > recoveryMost || back.throttled > throttledMost {
			t.Errorf("outage of %v: got recovered after %d s, throttled %.3f want at most %d s, at most %v",
				out, back.recovered, back.throttled, recoveryMost, throttledMost)
		}
	}
}

// TestOutageOfAServiceThatWasNeverAtItsLimit is the commonest outage: nobody has ever learned what the service bears at most.
func TestOutageOfAServiceThatWasNeverAtItsLimit(t *testing.T) {
	for _, out := range []time.Duration{time.Minute, 10 * time.Minute} {
		sc := scenario{workers: 8, latency: 40 * time.Millisecond, each: out, rates: []float64{1000, 1e-9, 1000}}
		const demand = 200.0 / 1000 // of the rate
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
		if got := o.phases[2].whole / demand; got < 0.25 {
			t.Errorf("outage of %v: share of what the workers can ask for that was served in the %v after it: got %.3f want at least 0.25", out, out, got)
		}
	}
}

// TestAJobThatBeginsInAnOutage has seen nothing served.
func TestAJobThatBeginsInAnOutage(t *testing.T) {
	sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: time.Minute, rates: []float64{1e-9, 200, 200}}
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	if got := o.phases[2].whole; got < 0.97 {
		t.Errorf("goodput in the second minute after the outage: got %.3f want at least 0.97", got)
	}
}

// TestCapacityFallsFar is an autoscaler that goes down to a twentieth, and a service that bears few calls from the beginning.
func TestCapacityFallsFar(t *testing.T) {
	for _, rates := range [][]float64{{200, 10}, {5, 2.5}} {
		sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 2 * time.Minute, rates: rates}
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
		for i, p := range o.phases {
			if p.throttled > 0.5 { // most of it while the right delay is searched
				t.Errorf("rates %v, %v/s: throttled: got %.2f want at most 0.5 (delay %v, right would be %.0f ms)", rates, rates[i], p.throttled, p.delay, 1e3/rates[i])
			}
		}
	}
}

// TestALowCapacityIsDoubled: a step down takes twenty successes, and to half the delay it takes thirty-five. Seven hundred successes at eight to
// sixteen a second are 60 s on average and 88 s at the slowest; the noise of delays comes on top.
func TestALowCapacityIsDoubled(t *testing.T) {
	const most = 110
	sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 5 * time.Minute, rates: []float64{8, 16}}
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	if got := o.phases[1].recovered; got < 0 || got > most {
		t.Errorf("from 8/s to 16/s: got recovered after %d s want at most %d", got, most)
	}
}

// TestManyCallsASecond is more than InitialInterval lets find: it is the shortest delay, and what is less is none.
func TestManyCallsASecond(t *testing.T) {
	for _, rate := range []float64{1000, 3000} {
		sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 20 * time.Second, rates: []float64{rate}}
		if p := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil)).phases[0]; p.whole < 0.9 || p.throttled > throttledMost {
			t.Errorf("%v/s: got goodput %.3f, throttled %.3f want at least 0.9, at most %v", rate, p.whole, p.throttled, throttledMost)
		}
	}
}

// TestAServiceThatSaysWhenToComeAgain says a second, as most do, at its limit too.
func TestAServiceThatSaysWhenToComeAgain(t *testing.T) {
	sc := steps(64)
	sc.retryAfter = time.Second
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	for i, p := range o.phases {
		if p.goodput < 0.3 || p.throttled > 0.05 {
			t.Errorf("%v/s: got goodput %.2f, throttled %.2f want at least 0.30, at most 0.05", sc.rates[i], p.goodput, p.throttled)
		}
	}
}
