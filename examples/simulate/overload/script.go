package overload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	usualClients  = 100
	usualCapacity = 1000
	usualLoad     = 0.8
)

// phasesOf returns the phases of a script. "60; 120!+ load=5 errors=20%; 180" is a minute with the usual
// load, two with five times the capacity and errors, and three more with the usual load. The mark ! means
// Phase.Disturbed, and + means Phase.Counted. A word is a field of Phase, a priority that fails, or one of
// the mixes.
func phasesOf(script string) []Phase {
	var all []Phase
	for text := range strings.SplitSeq(script, ";") {
		words := strings.Fields(text)
		length := strings.TrimRight(words[0], "!+")
		p, load, mixed := Phase{Capacity: 1}, usualLoad, "usual"
		p.Length = time.Duration(number(length) * float64(time.Second))
		p.Disturbed, p.Counted = strings.Contains(words[0], "!"), strings.Contains(words[0], "+")
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "load":
				load = number(value)
			case "mix":
				mixed = value
			case "capacity":
				p.Capacity = number(value)
			case "errors":
				p.Errors = number(value)
			case "slower":
				p.Slower = number(value)
			case "active":
				p.Active = number(value)
			default:
				p.Failing[slices.Index([]string{"high", "important", "medium", "low"}, name)] = number(value)
			}
		}
		p.Load = mixOf(mixed, load)
		all = append(all, p)
	}
	return all
}

// number returns the value of a number or a percentage.
func number(text string) float64 {
	digits, isPercent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		panic(err) // cannot happen: the scripts are constants
	}
	if isPercent {
		return x / 100
	}
	return x
}

// mix returns a load with the usual shares of the priorities.
func mix(load float64) Tiers { return Tiers{0.1 * load, 0.2 * load, 0.4 * load, 0.3 * load} }

// mixOf returns a load with the shares of a name.
func mixOf(name string, load float64) Tiers {
	switch name {
	case "high":
		usual := mix(load)
		return Tiers{throttle.High: usual.sum()}
	case "medium":
		return Tiers{throttle.Medium: load}
	case "tenth-high":
		return Tiers{throttle.High: load / 10, throttle.Medium: load - load/10}
	case "mostly-high":
		return Tiers{0.4 * load, 0.1 * load, 0.2 * load, 0.3 * load}
	case "mostly-low": // at five times the capacity, High and Important are exactly what the backend can serve
		return Tiers{0.08 * load, 0.12 * load, 0.3 * load, 0.5 * load}
	}
	return mix(load)
}

// change changes a scenario that a script has made.
type change func(*Scenario)

func family(name string, all ...[]Scenario) []Scenario {
	members := slices.Concat(all...)
	for i := range members {
		members[i].Family = name
	}
	return members
}

// row returns a scenario with the usual clients and capacity.
func row(name, title, script string, changes ...change) []Scenario {
	s := Scenario{
		Name: name, Title: title, Clients: usualClients, Capacity: usualCapacity,
		Cases: []Case{{Phases: phasesOf(script)}},
	}
	for _, change := range changes {
		change(&s)
	}
	return []Scenario{s}
}

// rows returns a scenario for each number, which replaces $ in the texts.
func rows(numbers []float64, name, title, script string, changes ...change) []Scenario {
	var all []Scenario
	for _, n := range numbers {
		fill := strings.NewReplacer("$", fmt.Sprint(n)).Replace
		all = append(all, row(fill(name), fill(title), fill(script), changes...)...)
	}
	return all
}

func of(numbers ...float64) []float64 { return numbers }

// series returns n phases. For each, format gets the values of f.
func series(n int, format string, f func(i float64) []any) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, f(float64(i))...)
	}
	return text.String()
}

func (b Backend) change(s *Scenario) { s.Backend = b }

func pooled(v Service) change {
	return func(s *Scenario) { s.Backend, s.Service = Pool, v }
}

func reporting(b Backend, r Reports) change {
	return func(s *Scenario) { s.Backend, s.Reports = b, &r }
}

func capacity(calls float64) change { return func(s *Scenario) { s.Capacity = calls } }

func clients(n int) change { return func(s *Scenario) { s.Clients = n } }

// keeps sets the clients of a scenario, which Options.Clients do not change.
func keeps(n int) change { return func(s *Scenario) { s.Clients, s.KeepClients = n, true } }

func others(policy string) change { return func(s *Scenario) { s.Others = policy } }

func unequal(s *Scenario) { s.Unequal = true }

func naively(s *Scenario) { s.Retry = "naive" }
