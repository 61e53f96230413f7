package overload

import (
	"fmt"
	"math"
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

// slow returns the scenarios of backends that become slow, and of slow calls that are nothing unusual.
func slow() []Scenario {
	return append(slowOverloads(), slowCalm()...)
}

func pooled(name, family, title string, v Service, phases ...Phase) Scenario {
	s := usual(name, family, title, phases...)
	s.Backend, s.Service = Pool, v
	return s
}

// slowOverloads returns the scenarios in which the backend is slow, and does not reject a call.
func slowOverloads() []Scenario {
	const family = "slow"
	workers := Service{Workers: usualWorkers, Patience: callerTimeout, Time: exponential(usualTime)}
	var all []Scenario
	for _, clients := range []int{1, 10, 100, 1000} {
		s := pooled(fmt.Sprintf("pool5-%d", clients), family, fmt.Sprintf("load of 5 times the capacity of ten workers, from %d clients", clients),
			workers, disturbedBy(Phase{Length: during, Load: mix(5), Capacity: 1})...)
		s.Clients = clients
		all = append(all, s)
	}
	for _, clients := range []int{1, 10, 100} {
		s := pooled(fmt.Sprintf("slow-ramp-%d", clients), family, fmt.Sprintf("calls take ten times as long, within a minute, from %d clients", clients),
			Service{Workers: usualWorkers, Patience: 5 * time.Second, Time: exponential(usualTime)})
		s.Clients, s.Cases[0].Phases = clients, []Phase{act(60, usualLoad, 0, 0)}
		for i := range 10 {
			x := float64(i + 1)
			s.Cases[0].Phases = append(s.Cases[0].Phases, slower(act(6, usualLoad, 0, disturbed), x, 1/x))
		}
		s.Cases[0].Phases = append(s.Cases[0].Phases, slower(act(60, usualLoad, 0, disturbed), 10, 0.1), act(120, usualLoad, 0, 0))
		all = append(all, s)
	}
	endless := Service{Time: constant(usualTime)}
	lock := []Phase{act(60, usualLoad, 0, 0), act(120, 2, 0, disturbed), act(180, usualLoad, 0, 0)}
	slots := Service{Workers: 10, Patience: callerTimeout, Time: constant(50 * time.Millisecond)}
	warm := pooled("slots", family, "load of three times the capacity of ten workers that take 50 ms", slots, act(20, 0.5, 0, 0), act(60, 3, 0, disturbed), act(60, 0.5, 0, 0))
	cold := pooled("slots-cold", family, "the same from the first second", slots, act(60, 3, 0, disturbed), act(60, 0.5, 0, 0))
	warm.Capacity, cold.Capacity = 200, 200
	return append(all, warm, cold,
		pooled("stable-timeout", family, "each call takes 5 s, for ten minutes, and is accepted then", endless,
			act(60, usualLoad, 0, 0), slower(act(600, usualLoad, 0, disturbed), 500, 1), act(60, usualLoad, 0, 0)),
		pooled("hang", family, "for a minute, calls hang for ever", endless,
			act(60, usualLoad, 0, 0), slower(act(60, usualLoad, 0, disturbed), math.Inf(1), 0), act(120, usualLoad, 0, 0)),
		pooled("lock", family, "load of twice the capacity; calls take longer, the more are open",
			Service{Workers: 1, Patience: callerTimeout, Time: contended}, lock...))
}

// slower returns a phase in which calls take longer, and the backend has less capacity.
func slower(p Phase, by, capacity float64) Phase {
	p.Slower, p.Capacity = by, capacity
	return p
}

// slowCalm returns the scenarios in which slow calls are nothing unusual.
func slowCalm() []Scenario {
	const family = "slow-calm"
	workers := Service{Workers: usualWorkers, Patience: callerTimeout, Time: exponential(usualTime)}
	paused := workers
	paused.Every, paused.Pause = 10*time.Second, 200*time.Millisecond
	bimodal := workers
	bimodal.Time = some(0.1, 55*time.Millisecond, 5*time.Millisecond)
	calm := act(180, usualLoad, 0, 0)
	rare := pooled("slow-rare", family, "a call per second and client; calls take 80 ms", Service{Time: exponential(80 * time.Millisecond)}, calm)
	rare.Capacity = 125
	return []Scenario{
		pooled("pool", family, "80 % load of ten workers", workers, calm),
		pooled("bimodal", family, "80 % load of ten workers; one call in ten takes 55 ms, the others 5 ms", bimodal, calm),
		pooled("slow-step", family, "calls take 50 ms instead of 10 ms", Service{Time: constant(usualTime)},
			act(60, usualLoad, 0, 0), slower(act(120, usualLoad, 0, 0), 5, 1)),
		pooled("pauses", family, "80 % load of ten workers that pause for 200 ms every 10 s", paused, calm),
		pooled("slow-some", family, "5 % of the calls take 3 s", Service{Time: some(0.05, 3*time.Second, usualTime)}, calm),
		pooled("slow-low", family, "calls of Low take 400 ms", Service{Time: lowIsSlow}, calm),
		rare,
		pooled("slow-ten", family, "half the load; for a minute, calls take 500 ms instead of 50 ms", Service{Time: constant(50 * time.Millisecond)},
			act(60, 0.5, 0, 0), slower(act(60, 0.5, 0, 0), 10, 1), act(60, 0.5, 0, 0)),
		pooled("slow-ten-random", family, "the same with times that differ", Service{Time: exponential(50 * time.Millisecond)},
			act(60, 0.5, 0, 0), slower(act(60, 0.5, 0, 0), 10, 1), act(60, 0.5, 0, 0)),
		pooled("slow-hundred", family, "half the load; for a minute, calls take 2 s instead of 20 ms", Service{Time: exponential(20 * time.Millisecond)},
			act(60, 0.5, 0, 0), slower(act(60, 0.5, 0, 0), 100, 1), act(60, 0.5, 0, 0)),
		pooled("mix-shift", family, "60 % load of 90 workers; for a minute, 9 calls in ten take 100 ms and not 5 ms", Service{Workers: 90, Patience: callerTimeout, Time: shifted},
			act(180, 0.6, 0, 0)),
		pooled("load-step", family, "load of ten workers rises from 30 to 80 %", workers, act(60, 0.3, 0, 0), act(120, usualLoad, 0, 0)),
	}
}
