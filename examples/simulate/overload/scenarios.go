package overload

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	usualClients  = 100
	usualCapacity = 1000
	usualLoad     = 0.8

	before = time.Minute // the disturbance
	during = 2 * time.Minute
	after  = 3 * time.Minute
)

// Scenarios returns every scenario, in the order in which they are best told.
func Scenarios() []Scenario {
	all := calm()
	for _, load := range []float64{2, 5, 10, 50} {
		all = append(all, overloaded(load, Blind))
	}
	for _, load := range []float64{2, 5, 10} {
		all = append(all, overloaded(load, Aware))
	}
	all = append(all, reduced()...)
	all = append(all, bursty(), single(), failingTier())
	for _, percent := range []float64{5, 10, 20, 30, 40} {
		all = append(all, erring(percent))
	}
	for _, load := range []float64{2, 10} {
		all = append(all, queued(load))
	}
	return append(append(all, lowTraffic()), isolated()...)
}

// FindScenarios returns the scenarios of a comma-separated list of names, families or "all": in that order, each once.
func FindScenarios(list string) ([]Scenario, error) {
	return find("scenario", list, Scenarios(), func(s Scenario) (name, family string) { return s.Name, s.Family })
}

// mix is how calls usually spread over the priorities.
func mix(load float64) Tiers { return Tiers{0.1 * load, 0.2 * load, 0.4 * load, 0.3 * load} }

// usual returns a scenario with everything but its phases as usual.
func usual(name, family, title string, phases ...Phase) Scenario {
	return Scenario{
		Name: name, Family: family, Title: title,
		Clients: usualClients, Capacity: usualCapacity,
		Cases: []Case{{Phases: phases}},
	}
}

// undisturbed is a phase in which all is well, but for errors that have nothing to do with load.
func undisturbed(length time.Duration, load, errors float64) Phase {
	return Phase{Length: length, Load: mix(load), Capacity: 1, Errors: errors}
}

// between two healthy times, something happens.
func disturbedBy(phases ...Phase) []Phase {
	all := []Phase{undisturbed(before, usualLoad, 0)}
	for _, p := range phases {
		p.Disturbed = true
		all = append(all, p)
	}
	return append(all, undisturbed(after, usualLoad, 0))
}

// calm are the scenarios in which nothing should be shed.
func calm() []Scenario {
	const family = "calm"
	return []Scenario{
		usual("healthy", family, "80 % load, 1 % errors", undisturbed(after, usualLoad, 0.01)),
		usual("healthy95", family, "95 % load, 2 % errors", undisturbed(after, 0.95, 0.02)),
		usual("surge", family, "load rises from 15 % to 75 %, 1 % errors",
			undisturbed(before, 0.15, 0.01), undisturbed(during, 0.75, 0.01)),
	}
}

func overloaded(load float64, b Backend) Scenario {
	name, family, title := fmt.Sprintf("over%v", load), "overload", fmt.Sprintf("load of %v times the capacity", load)
	if b == Aware {
		name, family, title = name+"-aware", "aware", title+", and a backend that gives way to higher priorities"
	}
	s := usual(name, family, title, disturbedBy(Phase{Length: during, Load: mix(load), Capacity: 1})...)
	s.Backend = b
	return s
}

// reduced are the scenarios in which the backend loses its capacity.
func reduced() []Scenario {
	return []Scenario{
		usual("brownout", "brownout", "capacity falls to 10 % for a minute",
			disturbedBy(Phase{Length: time.Minute, Load: mix(usualLoad), Capacity: 0.1})...),
		usual("outage", "outage", "nothing works for a minute",
			disturbedBy(Phase{Length: time.Minute, Load: mix(usualLoad)})...),
	}
}

func bursty() Scenario {
	var phases []Phase
	for range during / (10 * time.Second) {
		phases = append(phases,
			Phase{Length: 5 * time.Second, Load: mix(5), Capacity: 1},
			Phase{Length: 5 * time.Second, Load: mix(0.5), Capacity: 1})
	}
	return usual("bursty", "bursty", "five seconds of 5 times the capacity, five of half of it, and again", disturbedBy(phases...)...)
}

func single() Scenario {
	phases := disturbedBy(undisturbed(during, 10, 0))
	for i := range phases {
		phases[i].Load = Tiers{throttle.High: phases[i].Load.sum()}
	}
	return usual("single10", "single", "load of 10 times the capacity, all of one priority", phases...)
}

func failingTier() Scenario {
	calm := undisturbed(before, 0, 0)
	calm.Load = Tiers{0.32, 0.48 * 2 / 9, 0.48 * 4 / 9, 0.48 * 3 / 9}
	failing := calm
	failing.Length, failing.Failing, failing.Disturbed = during, Tiers{throttle.High: 1}, true
	return usual("tierfail40", "failing-tier", "High, 40 % of the calls, fails for its own reason", calm, failing)
}

func erring(percent float64) Scenario {
	return usual(fmt.Sprintf("errors%v", percent), "errors", fmt.Sprintf("80 %% load, %v %% errors that have nothing to do with it", percent),
		undisturbed(after, usualLoad, percent/100))
}

func queued(load float64) Scenario {
	s := usual(fmt.Sprintf("queue%v", load), "queue", fmt.Sprintf("load of %v times the capacity of a backend that queues", load),
		disturbedBy(Phase{Length: during, Load: mix(load), Capacity: 1})...)
	s.Backend = Queue
	return s
}

func lowTraffic() Scenario {
	s := usual("lowtraffic", "low-traffic", "a thousand clients with half a call per second each; capacity falls to 10 % for a minute",
		disturbedBy(Phase{Length: time.Minute, Load: mix(usualLoad), Capacity: 0.1})...)
	s.Clients, s.Capacity = 1000, 625
	return s
}
