package overload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	usualTime    = 10 * time.Millisecond // of a call
	usualWorkers = 10                    // which serve usualCapacity calls per second
)

func constant(d time.Duration) func(offer, float64, int) time.Duration {
	return func(offer, float64, int) time.Duration { return d }
}

// exponential returns times with an exponential distribution.
func exponential(mean time.Duration) func(offer, float64, int) time.Duration {
	return func(_ offer, random float64, _ int) time.Duration {
		return time.Duration(-math.Log(1-random) * float64(mean))
	}
}

// some returns a time for a share of the calls, and another one for the others.
func some(share float64, d, other time.Duration) func(offer, float64, int) time.Duration {
	return func(_ offer, random float64, _ int) time.Duration {
		if random < share {
			return d
		}
		return other
	}
}

// contended returns the times of calls that compete for a lock: the more are open, the longer it takes.
// The backend serves 1000 calls per second if 100 are open, and 360 if 1000 are.
func contended(_ offer, _ float64, open int) time.Duration {
	return time.Duration((0.8 + float64(open)/500) * float64(time.Millisecond))
}

// shifted returns times of 5 and 100 ms, of which most are long in the second minute.
func shifted(o offer, random float64, _ int) time.Duration {
	long := 0.1
	if o.at/time.Minute == 1 {
		long = 0.9
	}
	return some(long, 100*time.Millisecond, 5*time.Millisecond)(o, random, 0)
}

// lowIsSlow returns times of which only those of Low are long.
func lowIsSlow(o offer, _ float64, _ int) time.Duration {
	if o.priority == throttle.Low {
		return 400 * time.Millisecond
	}
	return usualTime
}

// slow returns the scenarios in which the backend is slow, and does not reject a call.
func slow() []Scenario {
	workers := Service{Workers: usualWorkers, Patience: callerTimeout, Time: exponential(usualTime)}
	patient := Service{Workers: usualWorkers, Patience: 5 * time.Second, Time: exponential(usualTime)}
	var all [][]Scenario
	for _, n := range []int{1, 10, 100, 1000} {
		title := fmt.Sprintf("load of 5 times the capacity of ten workers, from %d clients", n)
		all = append(all, row(fmt.Sprint("pool5-", n), title, fiveTimes, pooled(workers), clients(n)))
	}
	ramp := series(10, "; 6! slower=%v capacity=%v", func(i float64) []any { return []any{i + 1, 1 / (i + 1)} })
	for _, n := range []int{1, 10, 100} {
		title := fmt.Sprintf("calls take ten times as long, within a minute, from %d clients", n)
		all = append(all, row(fmt.Sprint("slow-ramp-", n), title, "60"+ramp+"; 60! slower=10 capacity=0.1; 120", pooled(patient), clients(n)))
	}
	endless := pooled(Service{Time: constant(usualTime)})
	slots := pooled(Service{Workers: 10, Patience: callerTimeout, Time: constant(50 * time.Millisecond)})
	return family("slow", slices.Concat(all...),
		row("slots", "load of three times the capacity of ten workers that take 50 ms",
			"20 load=0.5; 60! load=3; 60 load=0.5", slots, capacity(200)),
		row("slots-cold", "the same from the first second", "60! load=3; 60 load=0.5", slots, capacity(200)),
		row("stable-timeout", "each call takes 5 s, for ten minutes, and is accepted then", "60; 600! slower=500; 60", endless),
		row("hang", "for a minute, calls hang for ever", "60; 60! slower=inf capacity=0; 120", endless),
		row("lock", "load of twice the capacity; calls take longer, the more are open", "60; 120! load=2; 180",
			pooled(Service{Workers: 1, Patience: callerTimeout, Time: contended})))
}

// slowCalm returns the scenarios in which slow calls are nothing unusual.
func slowCalm() []Scenario {
	workers := Service{Workers: usualWorkers, Patience: callerTimeout, Time: exponential(usualTime)}
	paused, bimodal := workers, workers
	paused.Every, paused.Pause = 10*time.Second, 200*time.Millisecond
	bimodal.Time = some(0.1, 55*time.Millisecond, 5*time.Millisecond)
	unlimited := func(times func(offer, float64, int) time.Duration) change { return pooled(Service{Time: times}) }
	const tenTimes = "60 load=0.5; 60 load=0.5 slower=10; 60 load=0.5"
	return family("slow-calm",
		row("pool", "80 % load of ten workers", "180", pooled(workers)),
		row("bimodal", "80 % load of ten workers; one call in ten takes 55 ms, the others 5 ms", "180", pooled(bimodal)),
		row("slow-step", "calls take 50 ms instead of 10 ms", "60; 120 slower=5", unlimited(constant(usualTime))),
		row("pauses", "80 % load of ten workers that pause for 200 ms every 10 s", "180", pooled(paused)),
		row("slow-some", "5 % of the calls take 3 s", "180", unlimited(some(0.05, 3*time.Second, usualTime))),
		row("slow-low", "calls of Low take 400 ms", "180", unlimited(lowIsSlow)),
		row("slow-rare", "a call per second and client; calls take 80 ms", "180",
			unlimited(exponential(80*time.Millisecond)), capacity(125)),
		row("slow-ten", "half the load; for a minute, calls take 500 ms instead of 50 ms", tenTimes, unlimited(constant(50*time.Millisecond))),
		row("slow-ten-random", "the same with times that differ", tenTimes, unlimited(exponential(50*time.Millisecond))),
		row("slow-hundred", "half the load; for a minute, calls take 2 s instead of 20 ms",
			"60 load=0.5; 60 load=0.5 slower=100; 60 load=0.5", unlimited(exponential(20*time.Millisecond))),
		row("mix-shift", "60 % load of 90 workers; for a minute, 9 calls in ten take 100 ms and not 5 ms", "180 load=0.6",
			pooled(Service{Workers: 90, Patience: callerTimeout, Time: shifted})),
		row("load-step", "load of ten workers rises from 30 to 80 %", "60 load=0.3; 120", pooled(workers)))
}
