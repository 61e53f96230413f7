package overload

import (
	"fmt"
	"slices"
	"time"
)

// mark says what a scripted phase is for.
type mark uint8

const (
	disturbed mark = 1 << iota // Phase.Disturbed
	counted                    // Phase.Counted
)

// act returns a phase with the usual shares of the priorities and a healthy backend.
func act(seconds int, load, errors float64, m mark) Phase {
	p := undisturbed(time.Duration(seconds)*time.Second, load, errors)
	p.Disturbed, p.Counted = m&disturbed != 0, m&counted != 0
	return p
}

// with returns a phase after a change.
func with(p Phase, change func(*Phase)) Phase {
	change(&p)
	return p
}

// scripts returns the scenarios of several phases: errors that come and go, before and after an
// overload, mild and slow overloads, and fleets whose clients differ.
func scripts() []Scenario {
	return slices.Concat(steps(), joined(), mild(), losses(), fleets())
}

// steps returns the scenarios in which errors unrelated to load begin later, or in one priority.
func steps() []Scenario {
	const family = "steps"
	var all []Scenario
	for _, percent := range []float64{10, 20, 30} {
		share := percent / 100
		onOff := []Phase{act(60, usualLoad, 0, 0)}
		for range 5 {
			onOff = append(onOff, act(30, usualLoad, share, counted), act(30, usualLoad, 0, counted))
		}
		all = append(all,
			usual(fmt.Sprintf("step%v", percent), family, fmt.Sprintf("%v %% errors for five minutes", percent),
				act(60, usualLoad, 0, 0), act(300, usualLoad, share, counted), act(60, usualLoad, 0, 0)),
			usual(fmt.Sprintf("onoff%v", percent), family, fmt.Sprintf("%v %% errors for 30 s, none for 30 s, and again", percent), onOff...))
	}
	for p, name := range []string{"high", "important", "medium", "low"} {
		all = append(all, usual("only-"+name, family, "30 % errors in priority "+name, act(60, usualLoad, 0, 0),
			with(act(300, usualLoad, 0, counted), func(x *Phase) { x.Failing[p] = 0.3 })))
	}
	var ramp []Phase
	for i := range 11 {
		ramp = append(ramp, act(30, usualLoad, 0.03*float64(i), counted))
	}
	return append(all, usual("error-ramp", family, "errors grow to 30 % in five minutes", ramp...))
}

// joined returns the scenarios with both errors and overload. What is shed 20 s after the overload
// is counted.
func joined() []Scenario {
	const family = "joined"
	var all []Scenario
	for _, percent := range []float64{10, 20} {
		e, name := percent/100, func(format string) string { return fmt.Sprintf(format, percent) }
		all = append(all,
			usual(name("errors%v-over5"), family, name("%v %% errors, then also 5 times the load"), act(90, usualLoad, e, 0),
				act(120, 5, e, disturbed), act(20, usualLoad, e, 0), act(130, usualLoad, e, counted)),
			usual(name("over5-errors%v"), family, name("5 times the load, then also %v %% errors, which stay"), act(60, usualLoad, 0, 0),
				act(60, 5, 0, disturbed), act(120, 5, e, disturbed), act(20, usualLoad, e, 0), act(160, usualLoad, e, counted)),
			usual(name("together%v"), family, name("5 times the load and %v %% errors at the same time"), act(60, usualLoad, 0, 0),
				act(120, 5, e, disturbed), act(20, usualLoad, 0, 0), act(100, usualLoad, 0, counted)))
	}
	return append(all,
		usual("growth-errors20", family, "load grows from 30 to 75 % as 20 % errors begin; both stay",
			act(60, 0.3, 0, 0), act(240, 0.75, 0.2, counted)),
		usual("errors20-growth", family, "20 % errors, then the load grows from 30 to 75 %",
			act(90, 0.3, 0.2, 0), act(240, 0.75, 0.2, counted)))
}

// mild returns overloads that are small, slow or long. What is shed 15 s after them is counted.
func mild() []Scenario {
	const family = "mild"
	var all []Scenario
	for _, load := range []float64{1.1, 1.2, 1.3, 1.5, 1.7} {
		all = append(all, usual(fmt.Sprintf("over%v", load), family, fmt.Sprintf("load of %v times the capacity", load), act(60, usualLoad, 0, 0),
			act(180, load, 0, disturbed), act(15, usualLoad, 0, 0), act(45, usualLoad, 0, counted)))
	}
	ramp := []Phase{act(50, usualLoad, 0, 0)}
	for i := range 10 {
		ramp = append(ramp, act(25, 1.2+0.2*float64(i), 0, disturbed))
	}
	return append(all,
		usual("load-ramp", family, "load grows to 3 times the capacity in four minutes",
			append(ramp, act(15, usualLoad, 0, 0), act(45, usualLoad, 0, counted))...),
		usual("cold-over5", family, "5 times the load from the start", act(10, 5, 0, 0), act(170, 5, 0, disturbed),
			act(15, usualLoad, 0, 0), act(45, usualLoad, 0, counted)),
		usual("long-over5", family, "5 times the load for ten minutes", act(30, usualLoad, 0, 0), act(600, 5, 0, disturbed),
			act(15, usualLoad, 0, 0), act(45, usualLoad, 0, counted)))
}

// losses returns the scenarios in which the backend loses capacity at constant load.
func losses() []Scenario {
	const family = "losses"
	lose := func(p Phase, capacity float64) Phase { return with(p, func(x *Phase) { x.Capacity = capacity }) }
	var all []Scenario
	for _, percent := range []float64{30, 50, 70} {
		all = append(all, usual(fmt.Sprintf("capacity%v", percent), family, fmt.Sprintf("capacity falls to %v %% for a minute", percent),
			act(60, usualLoad, 0, 0), lose(act(60, usualLoad, 0, disturbed), percent/100), act(20, usualLoad, 0, 0), act(100, usualLoad, 0, counted)))
	}
	return append(all,
		usual("capacity30-errors20", family, "capacity falls to 30 % for a minute, then 20 % errors begin", act(60, usualLoad, 0, 0),
			lose(act(60, usualLoad, 0, disturbed), 0.3), act(20, usualLoad, 0.2, 0), act(160, usualLoad, 0.2, counted)),
		usual("over3-capacity40", family, "3 times the load, and capacity falls to 40 % for a minute of it", act(60, usualLoad, 0, 0),
			act(60, 3, 0, disturbed), lose(act(60, 3, 0, disturbed), 0.4), act(60, 3, 0, disturbed),
			act(20, usualLoad, 0, 0), act(40, usualLoad, 0, counted)))
}

// fleets returns overloads of clients that differ.
func fleets() []Scenario {
	const family = "fleets"
	var all []Scenario
	for _, others := range []string{"none", "sre", "tiered"} {
		for _, load := range []float64{2, 5} {
			s := overloaded(load, Blind)
			s.Name, s.Family, s.Others = fmt.Sprintf("%s-half-%s", s.Name, others), family, others
			s.Title += fmt.Sprintf(", and every second client has policy %s", others)
			all = append(all, s)
		}
	}
	for _, load := range []float64{2, 5} {
		s := overloaded(load, Blind)
		s.Name, s.Family, s.Unequal = s.Name+"-unequal", family, true
		s.Title += ", from clients with rates of 1 to 100"
		all = append(all, s)
		s = overloaded(load, Blind)
		s.Name, s.Family, s.Retry = s.Name+"-retries", family, "naive"
		s.Title += ", from clients that retry twice after 100 ms"
		all = append(all, s, newCallers(load))
	}
	s := withErrors(20)
	s.Name, s.Family, s.Unequal = s.Name+"-unequal", family, true
	s.Title += ", from clients with rates of 1 to 100"
	return append(all, s)
}

// newCallers returns an overload by clients that begin to call, while each client's rate is constant.
func newCallers(load float64) Scenario {
	s := overloaded(load, Blind)
	s.Name, s.Family, s.Title = s.Name+"-new", "fleets", s.Title+", because more clients begin to call"
	for i := range s.Cases[0].Phases {
		if p := &s.Cases[0].Phases[i]; !p.Disturbed {
			p.Active = usualLoad / load
		}
	}
	return s
}
