package overload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	usualClients  = 100
	usualCapacity = 1000
	usualLoad     = 0.8

	// The times before, during and after the disturbance.
	before = time.Minute
	during = 2 * time.Minute
	after  = 3 * time.Minute
)

// Scenarios returns every scenario, in the order in which they are listed.
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
		all = append(all, withErrors(percent))
	}
	for _, load := range []float64{2, 10} {
		all = append(all, queued(load))
	}
	all = append(append(all, lowTraffic()), isolated()...)
	return slices.Concat(all, scripts(), slow(), luck(), truth(), tenants())
}

// FindScenarios returns the scenarios of a comma-separated list of names, families or "all". It
// returns each once, in the order of the list.
func FindScenarios(list string) ([]Scenario, error) {
	return find("scenario", list, Scenarios(), func(s Scenario) (name, family string) { return s.Name, s.Family })
}

// mix returns a load with the usual shares of the priorities.
func mix(load float64) Tiers { return Tiers{0.1 * load, 0.2 * load, 0.4 * load, 0.3 * load} }

// usual returns a scenario with the usual clients and capacity.
func usual(name, family, title string, phases ...Phase) Scenario {
	return Scenario{
		Name: name, Family: family, Title: title,
		Clients: usualClients, Capacity: usualCapacity,
		Cases: []Case{{Phases: phases}},
	}
}

// undisturbed returns a phase without a disturbance. A share of the calls fails for reasons other
// than load.
func undisturbed(length time.Duration, load, errors float64) Phase {
	return Phase{Length: length, Load: mix(load), Capacity: 1, Errors: errors}
}

// disturbedBy returns the phases as a disturbance, with undisturbed phases before and after it.
func disturbedBy(phases ...Phase) []Phase {
	all := []Phase{undisturbed(before, usualLoad, 0)}
	for _, p := range phases {
		p.Disturbed = true
		all = append(all, p)
	}
	return append(all, undisturbed(after, usualLoad, 0))
}

// calm returns the scenarios in which no call should be shed.
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
		name, family, title = name+"-aware", "aware", title+", and a backend that serves higher priorities first"
	}
	s := usual(name, family, title, disturbedBy(Phase{Length: during, Load: mix(load), Capacity: 1})...)
	s.Backend = b
	return s
}

// reduced returns the scenarios in which the backend loses capacity.
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

func withErrors(percent float64) Scenario {
	return usual(fmt.Sprintf("errors%v", percent), "errors", fmt.Sprintf("80 %% load, %v %% errors for reasons other than load", percent),
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

// healthyRate is the number of calls per second of a healthy priority in the isolated scenarios.
const healthyRate = 100

// isolationCase is a setting of the isolated scenarios.
type isolationCase struct {
	failing throttle.Priority
	share   float64 // of its calls that fail
	rate    float64 // of its calls, per second
	healthy []throttle.Priority
	clients int
}

// isolated returns the scenarios in which one priority fails for its own reason. The healthy
// priorities should not be affected. The backend has enough capacity.
func isolated() []Scenario {
	return []Scenario{
		isolate("isolation-warm", "one priority begins to fail beside healthy ones", func(c *isolationCase) []Phase {
			return []Phase{c.phase(before, true, false), c.phase(during, true, true)}
		}),
		isolate("isolation-cold", "one priority fails beside healthy ones from the start", func(c *isolationCase) []Phase {
			return []Phase{c.phase(during, true, true)}
		}),
		isolate("isolation-late", "healthy priorities begin beside one that has long been failing", func(c *isolationCase) []Phase {
			return []Phase{c.phase(90*time.Second, false, true), c.phase(during, true, true)}
		}),
	}
}

// isolate returns a scenario with a case for each setting.
func isolate(name, title string, phases func(*isolationCase) []Phase) Scenario {
	s := usual(name, "isolation", title)
	s.Cases = nil
	for _, c := range isolationCases() {
		s.Cases = append(s.Cases, Case{Name: c.String(), Clients: c.clients, Phases: phases(&c)})
	}
	return s
}

func isolationCases() []isolationCase {
	var all []isolationCase
	for _, failing := range []throttle.Priority{throttle.High, throttle.Important} {
		for _, share := range []float64{0.3, 0.5, 0.75, 1} {
			for _, rate := range []float64{100, 200, 400} {
				for _, healthy := range [][]throttle.Priority{{throttle.Low}, {throttle.Medium, throttle.Low}} {
					for _, clients := range []int{1, 20} {
						all = append(all, isolationCase{failing, share, rate, healthy, clients})
					}
				}
			}
		}
	}
	return all
}

// String describes the setting. The random numbers of a case depend on this text, so a change of it
// changes the figures.
func (c *isolationCase) String() string {
	var healthy []string
	for _, p := range c.healthy {
		healthy = append(healthy, p.String())
	}
	return fmt.Sprintf("%v of %v %v calls/s fail beside %v, %d clients",
		c.share, c.rate, c.failing, strings.Join(healthy, " and "), c.clients)
}

// phase returns a phase with calls of the healthy priorities or without, in which the other
// priority fails or not.
func (c *isolationCase) phase(length time.Duration, healthy, failing bool) Phase {
	p := Phase{Length: length, Capacity: 1, Disturbed: failing}
	p.Load[c.failing] = c.rate / usualCapacity
	if failing {
		p.Failing[c.failing] = c.share
	}
	if healthy {
		for _, priority := range c.healthy {
			p.Load[priority] = healthyRate / float64(usualCapacity)
		}
	}
	return p
}
