package overload

import (
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/throttle"
)

// mostlyLow returns a load of which few calls are important: at five times the capacity, High and
// Important together are exactly what the backend can serve.
func mostlyLow(load float64) Tiers { return Tiers{0.08 * load, 0.12 * load, 0.3 * load, 0.5 * load} }

// mostlyHigh returns a load of which most calls are of High.
func mostlyHigh(load float64) Tiers { return Tiers{0.4 * load, 0.1 * load, 0.2 * load, 0.3 * load} }

// failing returns a phase with the usual load in which all calls fail.
func failing(seconds int) Phase {
	return with(act(seconds, usualLoad, 0, disturbed), func(p *Phase) { p.Capacity = 0 })
}

// loaded returns a phase with a load of any mix.
func loaded(seconds int, load Tiers, m mark) Phase {
	return with(act(seconds, 0, 0, m), func(p *Phase) { p.Load = load })
}

// luck returns the scenarios of ordinary bad luck: a lost node, a hiccup, one priority for all calls.
func luck() []Scenario {
	return slices.Concat(lostNodes(), hiccups(), unusualMixes(), errorsBeside())
}

// lucky returns a scenario of the family.
func lucky(name, title string, phases ...Phase) Scenario {
	return usual(name, "luck", title, phases...)
}

// lostNodes returns the scenarios in which the backend loses a part of its capacity at constant load.
func lostNodes() []Scenario {
	lost := func(name, title string, before int, capacity, errors float64) Scenario {
		return lucky(name, title, lostNode(before, capacity, errors)...)
	}
	return []Scenario{
		lost("half", "capacity falls to half for a minute", 60, 0.5, 0),
		lost("third", "capacity falls to 30 % for a minute", 60, 0.3, 0),
		lost("half-errors10", "10 % errors all the time, and capacity falls to half for a minute", 90, 0.5, 0.1),
	}
}

// lostNode returns a minute with less capacity, and the time before and after it.
func lostNode(before int, capacity, errors float64) []Phase {
	lost := with(act(60, usualLoad, errors, disturbed), func(p *Phase) { p.Capacity = capacity })
	return []Phase{act(before, usualLoad, errors, 0), lost, act(60, usualLoad, errors, 0)}
}

// hiccups returns the scenarios in which all calls fail for a short time.
func hiccups() []Scenario {
	var all []Scenario
	for _, seconds := range []int{1, 2, 5} {
		all = append(all, lucky(fmt.Sprintf("hiccup%d", seconds), fmt.Sprintf("all calls fail for %d s", seconds),
			act(60, usualLoad, 0, 0), failing(seconds), act(60, usualLoad, 0, 0)))
	}
	often := []Phase{act(60, usualLoad, 0, 0)}
	for range 10 {
		often = append(often, failing(1), act(19, usualLoad, 0, 0))
	}
	pair := lucky("pair", "two clients, and nothing works for a minute",
		act(60, usualLoad, 0, 0), failing(60), act(120, usualLoad, 0, 0))
	pair.Clients, pair.KeepClients = 2, true
	return append(all, lucky("hiccups", "all calls fail for 1 s every 20 s, ten times", often...), pair)
}

// unusualMixes returns overloads with other shares of the priorities.
func unusualMixes() []Scenario {
	medium := func(load float64) Tiers { return Tiers{throttle.Medium: load} }
	return []Scenario{
		lucky("one-priority", "5 times the load, all of priority Medium",
			loaded(60, medium(usualLoad), 0), loaded(120, medium(5), disturbed), loaded(60, medium(usualLoad), 0)),
		lucky("turn", "5 times the load, and 40 % instead of 8 % of it are High after a minute",
			act(60, usualLoad, 0, 0), loaded(60, mostlyLow(5), 0), loaded(60, mostlyHigh(5), disturbed), act(60, usualLoad, 0, 0)),
		lucky("margin", "5 times the load, of which all of High and Important could be served",
			act(60, usualLoad, 0, 0), loaded(120, mostlyLow(5), disturbed), act(60, usualLoad, 0, 0)),
	}
}

// errorsBeside returns the scenarios in which errors unrelated to load come with more calls. Of most,
// what is shed soon after the errors began is counted.
func errorsBeside() []Scenario {
	var all []Scenario
	for _, percent := range []int{10, 20} {
		share := float64(percent) / 100
		all = append(all, lucky(fmt.Sprintf("join%d", percent), fmt.Sprintf("load grows from 30 to 75 %% as %d %% errors begin; both stay", percent),
			act(60, 0.3, 0, 0), act(30, 0.75, share, 0), act(210, 0.75, share, counted)))
	}
	for _, percent := range []int{20, 30} {
		share := float64(percent) / 100
		s := lucky(fmt.Sprintf("retry%d", percent), fmt.Sprintf("%d %% errors for three minutes, from clients that retry twice after 100 ms", percent),
			act(60, usualLoad, 0, 0), act(10, usualLoad, share, disturbed), act(170, usualLoad, share, disturbed|counted))
		s.Retry = "naive"
		all = append(all, s)
	}
	return append(all, lucky("overerrors20", "5 times the load, then also 20 % errors for a minute",
		act(60, usualLoad, 0, 0), act(60, 5, 0, 0), act(60, 5, 0.2, disturbed), act(60, usualLoad, 0, 0)))
}
