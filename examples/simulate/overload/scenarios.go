package overload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Scenarios returns every scenario, in the order in which they are listed.
func Scenarios() []Scenario {
	return slices.Concat(ordinary(), steps(), joined(), mild(), losses(), fleets(), slow(), slowCalm(), luck(), truth(), tenants())
}

// FindScenarios returns the scenarios of a comma-separated list of names, families or "all". It
// returns each once, in the order of the list.
func FindScenarios(list string) ([]Scenario, error) {
	return find("scenario", list, Scenarios(), func(s Scenario) (name, family string) { return s.Name, s.Family })
}

const (
	overloaded = "60; 120! load=$; 180"
	fiveTimes  = "60; 120! load=5; 180"
)

// ordinary returns calm scenarios, and overloads of one phase.
func ordinary() []Scenario {
	tierfail := func(s *Scenario) {
		for i := range s.Cases[0].Phases {
			s.Cases[0].Phases[i].Load = Tiers{0.32, 0.48 * 2 / 9, 0.48 * 4 / 9, 0.48 * 3 / 9}
		}
	}
	bursts := "60" + strings.Repeat("; 5! load=5; 5! load=0.5", 12) + "; 180"
	return slices.Concat(
		family("calm",
			row("healthy", "80 % load, 1 % errors", "180 errors=1%"),
			row("healthy95", "95 % load, 2 % errors", "180 load=0.95 errors=2%"),
			row("surge", "load rises from 15 % to 75 %, 1 % errors", "60 load=0.15 errors=1%; 120 load=0.75 errors=1%")),
		family("overload", rows(of(2, 5, 10, 50), "over$", "load of $ times the capacity", overloaded)),
		family("aware", rows(of(2, 5, 10), "over$-aware", "load of $ times the capacity, and a backend that serves higher priorities first",
			overloaded, Aware.change)),
		family("brownout", row("brownout", "capacity falls to 10 % for a minute", "60; 60! capacity=10%; 180")),
		family("outage", row("outage", "nothing works for a minute", "60; 60! capacity=0; 180")),
		family("bursty", row("bursty", "five seconds of 5 times the capacity, five of half of it, and again", bursts)),
		family("single", row("single10", "load of 10 times the capacity, all of one priority",
			"60 mix=high; 120! load=10 mix=high; 180 mix=high")),
		family("failing-tier", row("tierfail40", "High, 40 % of the calls, fails for its own reason", "60; 120! high=100%", tierfail)),
		family("errors", rows(of(5, 10, 20, 30, 40), "errors$", "80 % load, $ % errors for reasons other than load", "180 errors=$%")),
		family("queue", rows(of(2, 10), "queue$", "load of $ times the capacity of a backend that queues", overloaded, Queue.change)),
		family("low-traffic", row("lowtraffic", "a thousand clients with half a call per second each; capacity falls to 10 % for a minute",
			"60; 60! capacity=10%; 180", clients(1000), capacity(625))),
		isolated())
}

// steps returns the scenarios in which errors unrelated to load begin later, or in one priority.
func steps() []Scenario {
	var all [][]Scenario
	for _, priority := range []string{"high", "important", "medium", "low"} {
		all = append(all, row("only-"+priority, "30 % errors in priority "+priority, "60; 300+ "+priority+"=30%"))
	}
	onOff := "60" + strings.Repeat("; 30+ errors=$%; 30+", 5)
	ramp := "30+" + series(10, "; 30+ errors=%v", func(i float64) []any { return []any{0.03 * (i + 1)} })
	return family("steps", slices.Concat(
		rows(of(10, 20, 30), "step$", "$ % errors for five minutes", "60; 300+ errors=$%; 60"),
		rows(of(10, 20, 30), "onoff$", "$ % errors for 30 s, none for 30 s, and again", onOff),
		slices.Concat(all...), row("error-ramp", "errors grow to 30 % in five minutes", ramp)))
}

// joined returns the scenarios with both errors and overload. What is shed 20 s after the overload
// is counted.
func joined() []Scenario {
	return family("joined",
		rows(of(10, 20), "errors$-over5", "$ % errors, then also 5 times the load",
			"90 errors=$%; 120! load=5 errors=$%; 20 errors=$%; 130+ errors=$%"),
		rows(of(10, 20), "over5-errors$", "5 times the load, then also $ % errors, which stay",
			"60; 60! load=5; 120! load=5 errors=$%; 20 errors=$%; 160+ errors=$%"),
		rows(of(10, 20), "together$", "5 times the load and $ % errors at the same time",
			"60; 120! load=5 errors=$%; 20; 100+"),
		row("growth-errors20", "load grows from 30 to 75 % as 20 % errors begin; both stay",
			"60 load=0.3; 240+ load=0.75 errors=20%"),
		row("errors20-growth", "20 % errors, then the load grows from 30 to 75 %",
			"90 load=0.3 errors=20%; 240+ load=0.75 errors=20%"))
}

// mild returns overloads that are small, slow or long. What is shed 15 s after them is counted.
func mild() []Scenario {
	ramp := series(10, "; 25! load=%v", func(i float64) []any { return []any{1.2 + 0.2*i} })
	return family("mild",
		rows(of(1.1, 1.2, 1.3, 1.5, 1.7), "over$", "load of $ times the capacity", "60; 180! load=$; 15; 45+"),
		row("load-ramp", "load grows to 3 times the capacity in four minutes", "50"+ramp+"; 15; 45+"),
		row("cold-over5", "5 times the load from the start", "10 load=5; 170! load=5; 15; 45+"),
		row("long-over5", "5 times the load for ten minutes", "30; 600! load=5; 15; 45+"))
}

// losses returns the scenarios in which the backend loses capacity at constant load.
func losses() []Scenario {
	return family("losses",
		rows(of(30, 50, 70), "capacity$", "capacity falls to $ % for a minute", "60; 60! capacity=$%; 20; 100+"),
		row("capacity30-errors20", "capacity falls to 30 % for a minute, then 20 % errors begin",
			"60; 60! capacity=30%; 20 errors=20%; 160+ errors=20%"),
		row("over3-capacity40", "3 times the load, and capacity falls to 40 % for a minute of it",
			"60; 60! load=3; 60! load=3 capacity=40%; 60! load=3; 20; 40+"))
}

// fleets returns overloads of clients that differ, or that begin to call with a constant rate.
func fleets() []Scenario {
	var half [][]Scenario
	for _, policy := range []string{"none", "sre", "tiered"} {
		half = append(half, rows(of(2, 5), "over$-half-"+policy,
			"load of $ times the capacity, and every second client has policy "+policy, overloaded, others(policy)))
	}
	const begin = "load of $ times the capacity, because more clients begin to call"
	return family("fleets", slices.Concat(half...),
		rows(of(2, 5), "over$-unequal", "load of $ times the capacity, from clients with rates of 1 to 100", overloaded, unequal),
		rows(of(2, 5), "over$-retries", "load of $ times the capacity, from clients that retry twice after 100 ms", overloaded, naively),
		rows(of(2), "over$-new", begin, "60 active=40%; 120! load=$; 180 active=40%"),
		rows(of(5), "over$-new", begin, "60 active=16%; 120! load=$; 180 active=16%"),
		row("errors20-unequal", "80 % load, 20 % errors for reasons other than load, from clients with rates of 1 to 100",
			"180 errors=20%", unequal))
}

// luck returns the scenarios of ordinary bad luck: a lost node, a hiccup, one priority for all calls, and
// errors unrelated to load that come with more calls. Of most of those, what is shed soon after the errors
// began is counted.
func luck() []Scenario {
	hiccups := "60" + strings.Repeat("; 1! capacity=0; 19", 10)
	return family("luck",
		row("half", "capacity falls to half for a minute", "60; 60! capacity=50%; 60"),
		row("third", "capacity falls to 30 % for a minute", "60; 60! capacity=30%; 60"),
		row("half-errors10", "10 % errors all the time, and capacity falls to half for a minute",
			"90 errors=10%; 60! capacity=50% errors=10%; 60 errors=10%"),
		rows(of(1, 2, 5), "hiccup$", "all calls fail for $ s", "60; $! capacity=0; 60"),
		row("hiccups", "all calls fail for 1 s every 20 s, ten times", hiccups),
		row("pair", "two clients, and nothing works for a minute", "60; 60! capacity=0; 120", keeps(2)),
		row("one-priority", "5 times the load, all of priority Medium",
			"60 mix=medium; 120! load=5 mix=medium; 60 mix=medium"),
		row("turn", "5 times the load, and 40 % instead of 8 % of it are High after a minute",
			"60; 60 load=5 mix=mostly-low; 60! load=5 mix=mostly-high; 60"),
		row("margin", "5 times the load, of which all of High and Important could be served",
			"60; 120! load=5 mix=mostly-low; 60"),
		rows(of(10, 20), "join$", "load grows from 30 to 75 % as $ % errors begin; both stay",
			"60 load=0.3; 30 load=0.75 errors=$%; 210+ load=0.75 errors=$%"),
		rows(of(20, 30), "retry$", "$ % errors for three minutes, from clients that retry twice after 100 ms",
			"60; 10! errors=$%; 170!+ errors=$%", naively),
		row("overerrors20", "5 times the load, then also 20 % errors for a minute",
			"60; 60 load=5; 60! load=5 errors=20%; 60"))
}

// truth returns the scenarios of backends that say their load: see Reports.
func truth() []Scenario {
	honest := reporting(Aware, Reports{})
	calm, full := reporting(Blind, Reports{Lie: AlwaysCalm}), reporting(Blind, Reports{Lie: AlwaysFull})
	return family("reports",
		row("reports5", "5 times the load, and a backend that says its load", fiveTimes, honest),
		row("reports-late", "the same, and the reports are half a second old", fiveTimes,
			reporting(Aware, Reports{Delay: 500 * time.Millisecond})),
		row("reports-lost", "the same, and half of the answers have no report", fiveTimes, reporting(Aware, Reports{Lost: 0.5})),
		row("reports-mixed", "5 times the load, and every second client ignores load reports", fiveTimes, honest, others("tiered")),
		row("reports-few", "5 times the load, from 1000 clients with 2 calls/s each", fiveTimes, honest, keeps(1000), capacity(400)),
		row("always-calm", "5 times the load, and a backend that always says it is calm", fiveTimes, calm),
		row("always-calm-half", "capacity falls to half for a minute, and the backend always says it is calm",
			"60; 60! capacity=50%; 60", calm),
		row("always-full", "80 % load, and a backend that always says it sheds all", "180 errors=1%", full),
		row("always-full5", "5 times the load, and a backend that always says it sheds all", fiveTimes, full),
		rows(of(10, 20, 30), "reports-join$", "load grows from 30 to 75 % as $ % errors begin, and the backend says it is calm",
			"60 load=0.3; 240!+ load=0.75 errors=$%", honest))
}

// isolated returns the scenarios in which one priority fails for its own reason. The healthy
// priorities should not be affected. The backend has enough capacity.
func isolated() []Scenario {
	return family("isolation",
		row("isolation-warm", "one priority begins to fail beside healthy ones", "60; 120!", besideFailing),
		row("isolation-cold", "one priority fails beside healthy ones from the start", "120!", besideFailing),
		row("isolation-late", "healthy priorities begin beside one that has long been failing", "90! load=0; 120!", besideFailing))
}

// besideFailing makes a case for each setting. One priority fails in the disturbed phases. The healthy ones
// make 100 calls per second each, except in phases without load.
func besideFailing(s *Scenario) {
	phases := s.Cases[0].Phases
	s.Cases = nil
	for _, failing := range []throttle.Priority{throttle.High, throttle.Important} {
		for _, share := range []float64{0.3, 0.5, 0.75, 1} {
			for _, rate := range []float64{100, 200, 400} {
				for _, healthy := range [][]throttle.Priority{{throttle.Low}, {throttle.Medium, throttle.Low}} {
					for _, clients := range []int{1, 20} {
						s.Cases = append(s.Cases, isolationCase(phases, failing, share, rate, healthy, clients))
					}
				}
			}
		}
	}
}

// isolationCase returns the case of a setting. The random numbers of a case depend on its name, so a change
// of that changes the figures.
func isolationCase(phases []Phase, failing throttle.Priority, share, rate float64, healthy []throttle.Priority, clients int) Case {
	var names []string
	for _, p := range healthy {
		names = append(names, p.String())
	}
	name := fmt.Sprintf("%v of %v %v calls/s fail beside %v, %d clients", share, rate, failing, strings.Join(names, " and "), clients)
	c := Case{Name: name, Clients: clients, Phases: slices.Clone(phases)}
	for i := range c.Phases {
		p, called := &c.Phases[i], phases[i].Load.sum() > 0
		p.Load = Tiers{}
		p.Load[failing] = rate / usualCapacity
		if p.Disturbed {
			p.Failing[failing] = share
		}
		for _, h := range healthy {
			if called {
				p.Load[h] = 100. / usualCapacity
			}
		}
	}
	return c
}
